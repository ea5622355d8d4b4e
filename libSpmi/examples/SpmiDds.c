/*
 * The guide's example of a dynamic data supplier, SpmiDds.c: the context DDS/IBM/sample1
 * with two statistics, and a program that ends properly when a signal ends it.
 *
 *	cc -o SpmiDds SpmiDds.c -lSpmi
 *
 * The guide prints this program in parts. Of the whole program it prints the four calls of
 * signal(). Its sections on the structures SpmiRawStat and cx_create give PUStats and
 * cx_table, and say that they are this program's. These and SpmiStopMe are as printed,
 * except for repairs where printing broke them:
 *
 *	SiCounter,                      the newline behind "SiCounter," is gone (once)
 *	   SiLong, 2
 *	dataarea->                      so is that behind every "->"
 *	SiShT
 *
 * What is not printed is taken from the guide's first program, permanent.c: struct dat, as
 * far as PUStats uses it, the call of SpmiDdsInit, the first values and their growth. The
 * loop is the guide's second one, which looks at SiShSubscrib and SiShInterval.
 *
 * -DFILE_NAME=... names another file for those who may not write to /etc, and -DIDLE= the
 * pause in seconds while no client asks.
 */
#include <stdio.h>

#include <sys/signal.h>

#include <sys/types.h>

#include <netinet/in.h>

#include <sys/Spmidef.h>
#ifndef FILE_NAME
#define FILE_NAME "/etc/SpmiDdsSHM"
#endif
#ifndef IDLE
#define IDLE 5
#endif
extern char  SpmiErrmsg[];
struct dat
{
   u_long      a;
   u_long      b;
};
static CONST struct SpmiRawStat PUStats[] = {
{  "gadgets", "Fake counter value", 0, 100, SiCounter,
   SiLong, 1, SZ_OFF(dat, a, SiULong), NULL},
{  "widgets", "Another fake counter value", 0, 100, SiCounter,
   SiLong, 2, SZ_OFF(dat, b, SiULong), NULL},
};
static CONST cx_create cx_table[] = {
   {"DDS/IBM", "IBM-defined Dynamic Data Suppliers", 2, 0,
      NULL, 0, NULL, 0, NULL, SiNoInst},
   {"DDS/IBM/sample1", "Bogus Context Number 1", 191, 0,
      PUStats, STAT_L(PUStats), NULL, 0, NULL, SiNoInst},
};
static int  CxCount = CX_L(cx_table); /* Count of contexts defined */
static SpmiShare *dataarea = NULL;    /* Shared memory pointer  */
static struct dat *d = NULL;          /* Pointer to stats data area */
void SpmiStopMe()
{
   dataarea = NULL;
   SpmiExit();
   exit(0);
}

void main()
{
   dataarea = SpmiDdsInit(cx_table, CxCount, NULL, 0, FILE_NAME);
   if (!dataarea)
   {
      fprintf(stderr, "%s\n", SpmiErrmsg);
      exit(-1);
   }

   d = (struct dat *)&dataarea->SiShArea[0];
   signal(SIGTERM, SpmiStopMe);
   signal(SIGHUP, SpmiStopMe);
   signal(SIGINT, SpmiStopMe);
   signal(SIGSEGV, SpmiStopMe);

   gettimeofday(&dataarea->SiShT, NULL);
   d->a = 22;
   d->b = 42;

while(!dataarea->SiShGoAway)
{
   if (dataarea->SiShSubscrib)
      usleep(dataarea->SiShInterval * 1000);
   else
      sleep(IDLE);
   gettimeofday(&dataarea->SiShT, NULL);
   d->a += dataarea->SiShT.tv_sec & 0xff;
   d->b += dataarea->SiShT.tv_sec & 0xf;
}
SpmiStopMe();
}
