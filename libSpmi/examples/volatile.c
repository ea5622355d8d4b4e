/*
 * The guide's supplier of volatile statistics: the permanent one, with the lines added
 * that its section on volatile extensions gives.
 *
 *	cc -o volatile volatile.c -lSpmi
 *
 * Mended where printing broke it, beyond what permanent.c says:
 *
 *	gettimeofday(&dataarea>         "->" where the page has ">"
 *	dataarea->                      the newline behind every "->" is gone
 *	SiShInterval
 *	215, 0,                         so is that behind "SiCounter,", "215, ", "0, " and
 *	                                before "SpmiErrmsg" (twice)
 *
 * What the guide leaves to the reader: "..." in the assignments, the declaration of i,
 * and where the pieces go.
 *
 * The guide says that its program, SpmiSupl.c, adds yet another context dynamically, and
 * does not print it. Here that is Bongo: it has an element of its own in the table of
 * contexts, and statistics and a data structure of its own, as the guide demands. All
 * that has INST2, inst2, pt2 or ANOTHER in its name was added here.
 *
 * The times of day at which Bingo and Bongo are added and deleted, and the pause while
 * no client asks, can be set with -DADD_EVERY=, -DDELETE_EVERY=, -DADD_ANOTHER_EVERY=,
 * -DDELETE_ANOTHER_EVERY= and -DIDLE=; the guide's values are the defaults.
 */
#include <stdio.h>

#include <sys/signal.h>

#include <sys/types.h>

#include <netinet/in.h>

#include <sys/Spmidef.h>
#ifndef FILE_NAME
#define FILE_NAME "/etc/SpmiSupl_hook"
#endif
#ifndef ADD_EVERY
#define ADD_EVERY 59
#endif
#ifndef DELETE_EVERY
#define DELETE_EVERY 120
#endif
#ifndef ADD_ANOTHER_EVERY
#define ADD_ANOTHER_EVERY 61
#endif
#ifndef DELETE_ANOTHER_EVERY
#define DELETE_ANOTHER_EVERY 180
#endif
#ifndef IDLE
#define IDLE 5
#endif
extern char  SpmiErrmsg[];
struct dat
{
   u_long      a;
   u_long      b;
   u_long      c;
   u_long      d;
};
struct inst
{
   float  a;
   u_long  b;
};
struct inst2
{
   u_long  a;
   u_long  b;
};
static CONST struct SpmiRawStat PUStats[] = {
{ "gadgets", "Fake counter value", 0, 100, SiCounter,
   SiLong, 1, SZ_OFF(dat, a, SiULong), NULL},
{ "widgets", "Another fake counter value", 0, 100, SiCounter,
   SiLong, 2, SZ_OFF(dat, b, SiULong), NULL},
};
static CONST struct SpmiRawStat FakeMemStats[] = {
{ "level", "Fake quantity value", 0, 100, SiQuantity,
   SiLong, 1, SZ_OFF(dat, c, SiULong)},
{ "queue", "Another fake quantity value", 0, 100, SiQuantity,
   SiLong, 2, SZ_OFF(dat, d, SiULong)},
};
static CONST cx_create cx_table[] = {
{"DDS/IBM", "IBM-defined Dynamic Data-Suppliers", 2, 0,
   NULL, 0, NULL, 0, NULL, SiNoInst},
{"DDS/IBM/Test", "Bogus Context Number 1", 220, 0,
   PUStats, STAT_L(PUStats), NULL, 0, NULL, SiNoInst},
{"DDS/IBM/Moretest", "Bogus Context Number 2", 221, 0,
   NULL, 0, NULL, 0, NULL, SiNoInst},
{"DDS/IBM/Moretest/SubTest", "Bogus Context Number 3", 222, 0,
   FakeMemStats, STAT_L(FakeMemStats), NULL, 0, NULL, SiNoInst},
};
static CONST struct SpmiRawStat InstStats[] = {
{ "problems", "Fake counter value", 0, 100, SiCounter,
   SiLong, 1, SZ_OFF(inst, a, SiLong)},
{ "solutions", "Another fake counter value", 0, 100, SiCounter,
   SiLong, 2, SZ_OFF(inst, b, SiLong)} };
static CONST struct SpmiRawStat Inst2Stats[] = {
{ "questions", "Third fake counter value", 0, 100, SiCounter,
   SiLong, 1, SZ_OFF(inst2, a, SiULong)},
{ "doubts", "Third fake quantity value", 0, 100, SiQuantity,
   SiLong, 2, SZ_OFF(inst2, b, SiULong)} };
static CONST cx_create inst_table[] = {
{"DDS/IBM/Moretest/INST1", "Instantiable Context Number 1", 215, 0,
   InstStats, STAT_L(InstStats), NULL, 0, NULL, SiNoInst},
{"DDS/IBM/Moretest/INST2", "Instantiable Context Number 2", 216, 0,
   Inst2Stats, STAT_L(Inst2Stats), NULL, 0, NULL, SiNoInst}
};
static int  CxCount = CX_L(cx_table); /* Count of contexts defined */
int   InstCount = CX_L(inst_table); /* Count of contexts defined */
static SpmiShare *dataarea = NULL;    /* Shared memory pointer  */
static struct dat *d = NULL;          /* Pointer to stats data area */
struct inst *pt1 = NULL;           /* Pointer to stats data area */
struct inst2 *pt2 = NULL;          /* Pointer to stats data area */
void SpmiStopMe()
{
   dataarea = NULL;
   SpmiExit();
   exit(0);
}

void main()
{
   int i;

   dataarea = SpmiDdsInit(cx_table, CxCount, inst_table, InstCount, FILE_NAME);
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
   d->c = 28;
   d->d = 62;

while(!dataarea->SiShGoAway)
{
   if (dataarea->SiShSubscrib)
      usleep(dataarea->SiShInterval * 1000);
   else
      sleep(IDLE);
   gettimeofday(&dataarea->SiShT, NULL);
   d->a += dataarea->SiShT.tv_sec & 0xff;
   d->b += dataarea->SiShT.tv_sec & 0xf;
   d->c += (dataarea->SiShT.tv_sec & 0x20f) & 0xffff;
   d->d += (dataarea->SiShT.tv_sec & 0x7f) & 0xffff;
   if (((dataarea->SiShT.tv_sec % ADD_EVERY) == 0) && (!pt1))
   {
      if (!(pt1 = (struct inst *)SpmiDdsAddCx(0, "DDS/IBM/Moretest/Bingo",
           "Dynamically added", 1)))
         fprintf(stderr, "Add failed: \"%s\"\n", SpmiErrmsg);
   }
   if (((dataarea->SiShT.tv_sec % DELETE_EVERY) == 0) && (pt1))
   {
      if (i = SpmiDdsDelCx((char *)pt1))
         fprintf(stderr, "Delete failed: \"%s\"\n", SpmiErrmsg);
      else
         pt1 = NULL;
   }
   if (pt1)
   {
      pt1->a += dataarea->SiShT.tv_sec & 0xff;
      pt1->b += dataarea->SiShT.tv_sec & 0xf;
   }
   if (((dataarea->SiShT.tv_sec % ADD_ANOTHER_EVERY) == 0) && (!pt2))
   {
      if (!(pt2 = (struct inst2 *)SpmiDdsAddCx(1, "DDS/IBM/Moretest/Bongo",
           "Also added dynamically", 2)))
         fprintf(stderr, "Add failed: \"%s\"\n", SpmiErrmsg);
   }
   if (((dataarea->SiShT.tv_sec % DELETE_ANOTHER_EVERY) == 0) && (pt2))
   {
      if (i = SpmiDdsDelCx((char *)pt2))
         fprintf(stderr, "Delete failed: \"%s\"\n", SpmiErrmsg);
      else
         pt2 = NULL;
   }
   if (pt2)
   {
      pt2->a += dataarea->SiShT.tv_sec & 0xf;
      pt2->b = dataarea->SiShT.tv_sec & 0x7f;
   }
}
SpmiStopMe();
}
