/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_MMZONE_H
#define _ASM_SIM_MMZONE_H

struct pglist_data;
extern struct pglist_data *node_data[];
#ifndef NODE_DATA
#define NODE_DATA(nid) (node_data[nid])
#endif

#endif
