
/*****************************************************************************/ 

     /* sample.c */      

/*****************************************************************************/
    #include <stdio.h>  

    #include "arm.h"
    int32 appl_id = -1; /* Unique indentifer for the

application */
    int32 tran_id = -1; /* Unique identifier for the

transaction */
    void init()
    {
       appl_id = arm_init("ARM sample program",

/* application name */
                          "*", /* use default

user */
                          0,0,0); 
       if (appl_id < 0)
          printf("ARM sample program not registered.\n");
     tran_id = arm_getid(appl_id, /* application

id from arm_init */
                          "Sample_transaction",

/* transaction name */
                          "First Transaction in Sample program",
                           0,0,0); 
       if (tran_id < 0) 
             printf("Sample_transaction is not registered.\n");
     } /* init */
     void transaction()
    {
       int32 tran_handle;
       tran_handle = arm_start(tran_id, /*

transaction id from arm_getid */
                               0,0,0); 
       /*********************************************/    

     /* Perform actual transaction processing here*/         

/*********************************************/
       sleep(1);
     arm_stop(tran_handle, /* transaction handle

from arm_start */
                 ARM_GOOD, /* successful completion define

= 0 */
                 0,0,0); 
       return;
    } /* transaction */
    main()
    {
       int continue_processing = 1;
       init();
       while (continue_processing) 
       {
          transaction();
       }
      arm_end(appl_id, /* application id from

arm_init */
                0,0,0); 
       return(0);
     }
