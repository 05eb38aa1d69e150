/*
 * One election among four or five servers, or among three that become four and then five: votes, one LEAD, restarts, lost disks and
 * files that were rolled back. `voting.pml` has three servers, and more of what befalls them. README.md in the folder above says what is
 * modelled, and what not.
 *
 * One step at a time is taken, freely chosen. Nothing ever has to happen, so every delay, loss and freeze is among the runs.
 */

#ifndef SERVERS
#define SERVERS 5
#endif
/* Servers 0 and 1 compete; the others only vote, and nothing tells them apart. */
#define CANDIDATES 2

/* How many units a clock advances in a tick: a slow one of a candidate, a fast one of a voter. */
#define FAST 100
#ifndef SLOW
#define SLOW 90
#endif
#define LEASE 200
/* A leader leaves a tenth of its lease unused. */
#define VALID 180
/* What a server that has lost its disk was told before that is heeded only if all have told; a claim counts no vote later. */
#define LONGEST_CLAIM 100
#define COUNTING 90

/* How many terms may be known at once, and how many claims there are. */
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
/* How many may have lost their disks at once. */
#ifndef LOST_AT_ONCE
#define LOST_AT_ONCE 1
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 0
#endif

/* What a candidate is about. */
#define STANDBY 0
#define CLAIMING 1 /* its ELECT is under way */
#define ELECTED 2 /* a majority has voted for it: it sends LEAD */

typedef Voter {
  /* On its disk, before it answers. */
  byte fileTerm;
  bool fileLease;
  /* In memory. */
  byte term;
  bool heard; /* it has taken the latest LEAD of its term */
  short age; /* since the last LEAD that it took, or its start; LEASE: it refuses nobody */
  /* It has lost its disk: it neither votes nor acknowledges until it knows what the others know. */
  bool forgot;
  /* Its file may be an older one: so long as not all have told, it does not take part either. */
  bool unsure;
  byte floor /* the least that it can be told, by as many as are needed; 0: it has not been told yet */
#ifdef LISTS
  ;
  byte list; /* it works with that; lists are of 3, 4 and 5 servers */
  bool isOut; /* it has not been started yet */
  bool moved; /* its file is of the list before, and it does not know yet what the others of this one know */
  byte told[SERVERS] /* what each other one has told it, as early as may be */
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
/* The highest term that anybody has led, and that anybody knows. */
byte highestLed;
byte highest;
byte claimsLeft;
byte restartsLeft;
byte lossesLeft;
byte rollbacksLeft;
#if ROLLBACKS > 0
/* The file that one server had at some time; and whether that has written since, and who remembers so: in memory, and on its disk. */
byte backedUp = SERVERS;
byte backupTerm;
bool backupLease;
bool wroteSince;
byte remember;
byte fileRemember;
#endif
bool isWrong;
/* Which steps may be taken. */
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

/* A step that may be taken, and what has to hold after it. Which may be taken is worked out after each step. */
#define STEP(may, what) d_step { may -> c_code { what; afterwards(); }; assert(!isWrong) }
#define CAN(what) ((can[me] >> (what)) & 1)
/* Any term above its server's: one that others know, or one between those. It may give up whatever it is about. */
#define CLAIM(more) STEP(canClaim[me] >= more, claim(Pcandidate->me, more))

proctype candidate(byte me) {
end:
  do
  :: CLAIM(1) :: CLAIM(2) :: CLAIM(3) :: CLAIM(4) :: CLAIM(5) :: CLAIM(6) :: CLAIM(7)
  :: STEP(cand[me].phase == ELECTED && cand[me].leadAge > 0, sendLead(Pcandidate->me))
  od
}

/* What reaches one server, and what befalls it. */
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

/* A candidate's clock that is slow and a voter's that is fast give the most leeway: neither loses by it anywhere. */
proctype time() {
end:
  do
  :: d_step { printf("\nTICK %d %d %d %d", SLOW, FAST, SLOW, FAST); c_code { tick(); afterwards(); }; assert(!isWrong) }
  od
}
