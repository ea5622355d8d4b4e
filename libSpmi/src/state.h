/* The one supplier that a process can be. */
#ifndef SPMI_STATE_H
#define SPMI_STATE_H

#include "internal.h"

struct state {
	pid_t pid;        /* of the process that called SpmiInit; others are its children */
	bool initialized; /* SpmiInit has succeeded */
	uint32_t timeout; /* the argument of SpmiInit, as in the segment's header; 0: none */
	bool registered;  /* SpmiDdsInit has succeeded */
	struct supplier supplier;
};

extern struct state spmi_state;

void state_after_fork(void);

#endif
