/*
 * One election among four or five servers, or among three that become four and then five. It has votes, one LEAD, restarts, lost
 * disks and files that were rolled back. `voting.pml` has three servers, and more faults. README.md in the folder above says what
 * is modelled, and what is not.
 *
 * One step at a time is chosen freely. No step ever has to happen, so the runs include every delay, loss and freeze.
 */

#ifndef SERVERS
#define SERVERS 5
#endif
/* Servers 0 and 1 compete. The others only vote, and are all alike. */
#define CANDIDATES 2

/* The units by which a clock advances in a tick: SLOW for a candidate, FAST for a voter. */
#define FAST 100
#ifndef SLOW
#define SLOW 90
#endif
#define LEASE 200
/* A leader leaves a tenth of its lease unused. */
#define VALID 180
/* A server that has lost its disk uses earlier reports only if all have reported. A claim counts no votes later than this. */
#define LONGEST_CLAIM 100
#define COUNTING 90

/* The number of terms that may be known at once, and the number of claims. */
#ifndef TERMS
#define TERMS 4
#endif
#ifndef CLAIMS
#define CLAIMS 2
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
/* The number of servers that may have lost their disks at once. */
#ifndef LOST_AT_ONCE
#define LOST_AT_ONCE 1
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 0
#endif

/* The phase of a candidate. */
#define STANDBY 0
#define CLAIMING 1 /* its ELECT is under way */
#define ELECTED 2 /* a majority has voted for it: it sends LEAD */

typedef Voter {
  /* On the disk, before the server answers. */
  byte fileTerm;
  bool fileLease;
  /* In memory. */
  byte term;
  bool heard; /* it has accepted the latest LEAD of its term */
  short age; /* since the last LEAD that it accepted, or its start; LEASE: it blocks no candidate */
  /* The server has lost its disk. It neither votes nor acknowledges until it knows what the others know. */
  bool forgot;
  /* The server's file may be an older one. Until all have reported, the server takes no part either. */
  bool unsure;
  byte floor /* the lowest floor that enough reports can give; 0: too few reports yet */
#ifdef LISTS
  ;
  byte list; /* the number of its list; the lists have 3, 4 and 5 servers */
  bool isOut; /* it has not been started yet */
  bool moved; /* its file is of the former list, and it does not know yet what the others of this list know */
  byte told[SERVERS] /* the report of each other server, as early as possible */
#endif
}

typedef Candidate {
  byte phase;
  byte term;
  short claimAge; /* since its ELECT was sent */
  byte votes; /* a bit for each server that has voted for it */
  bool leads; /* a majority has acknowledged a LEAD in time */
  short age; /* since the send of the latest LEAD that a majority has acknowledged */
  short leadAge; /* since its latest LEAD was sent; VALID: there is none */
  byte taken /* a bit for each server that has acknowledged that */
}

Voter voter[SERVERS];
Candidate cand[CANDIDATES];
/* The highest term that was ever led, and the highest known term. */
byte highestLed;
byte highest;
byte claimsLeft;
byte restartsLeft;
byte lossesLeft;
byte rollbacksLeft;
#if ROLLBACKS > 0
/*
 * The file that one server had at some time. Also whether the server has written since, and which servers remember that: in
 * memory, and on disk.
 */
byte backedUp = SERVERS;
byte backupTerm;
bool backupLease;
bool wroteSince;
byte remember;
byte fileRemember;
#endif
bool isWrong;
/* The steps that may be taken. */
short can[SERVERS];
byte canClaim[CANDIDATES];

#include "servers-rules.pml"
#include "servers-steps.pml"
#include "servers-names.pml"

init {
  d_step { c_code { begin(); } }
  atomic {
#ifndef NO_TIME
    run time();
#endif
#if SERVERS > 4
    run server(4);
#endif
    run server(3); run server(2); run server(1); run server(0); run candidate(1); run candidate(0)
  }
}

/* A step that may be taken, and the claims after it. The possible steps are computed again after each step. */
#define STEP(may, what) d_step { may -> c_code { what; afterwards(); }; assert(!isWrong) }
#define CAN(what) ((can[me] >> (what)) & 1)
/* Any term above its server's: a known one, or one between known ones. A candidate may give up at any time. */
#define CLAIM(more) STEP(canClaim[me] >= more, claim(Pcandidate->me, more))

proctype candidate(byte me) {
end:
  do
  :: CLAIM(1) :: CLAIM(2) :: CLAIM(3) :: CLAIM(4) :: CLAIM(5) :: CLAIM(6) :: CLAIM(7)
  :: STEP(cand[me].phase == ELECTED && cand[me].leadAge > 0, sendLead(Pcandidate->me))
  od
}

/* The messages to one server, and its faults. */
proctype server(byte me) {
end:
  do
  :: STEP(CAN(0), vote(Pserver->me, 0)) :: STEP(CAN(1), vote(Pserver->me, 1))
  :: STEP(CAN(2), takeLead(Pserver->me, 0)) :: STEP(CAN(3), takeLead(Pserver->me, 1))
  :: STEP(CAN(4), takePart(Pserver->me))
  :: STEP(CAN(5), restart(Pserver->me))
  :: STEP(CAN(6), lose(Pserver->me))
#if ROLLBACKS > 0
  :: STEP(CAN(7), backUp(Pserver->me))
  :: STEP(CAN(8), rollBack(Pserver->me))
#endif
#ifdef LISTS
  :: STEP(CAN(9), startWithNextList(Pserver->me))
#endif
  od
}

/* A slow clock of a candidate and a fast clock of a voter allow the most. Neither ever prevents a step. */
proctype time() {
end:
  do
  :: d_step { printf("\nTICK %d %d %d %d", SLOW, FAST, SLOW, FAST); c_code { tick(); afterwards(); }; assert(!isWrong) }
  od
}
