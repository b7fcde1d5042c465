// SPDX-License-Identifier: GPL-2.0-only
/* No assembly here knows the layout of a struct. */
int main(void)
{
	return 0;
}
