/* What the scripted lower library is told, and tells. */
#ifndef SCRIPTED_H
#define SCRIPTED_H

struct script {
	int answer;      /* of every call */
	int counting;    /* arm_start answers one more each time, arm_stop 0 */
	int reusing;     /* arm_start answers the lowest number that is free, arm_stop frees it */
	int quiet;       /* start and stop are not remembered */
	int correlator;  /* arm_start gives one */
	int calls_back;  /* arm_start calls the arm_start that the program has, with this */
	int called_back; /* and got this */
	char calls[8192];
};

#endif
