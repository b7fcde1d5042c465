// SPDX-License-Identifier: GPL-2.0-only
/* Empty: Kbuild requires this file, but no assembly of this architecture needs the offset of a member. */
int main(void)
{
	return 0;
}
