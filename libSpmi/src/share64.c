/* share.c for programs whose struct timeval has 64-bit words on a 32-bit system. */
#define _TIME_BITS 64
#define share_size share64_size
#define share_write share64_write
#include "share.c"
