/*
 * One record that three members keep, and two candidates that read and write it through a majority of them (`@leasehold/quorum`).
 * The claims are what `lease.pml` assumes about its store: that it compares and swaps. README.md in the folder above says what is
 * modelled, and what is not.
 *
 * One step at a time is chosen freely: a step of a candidate, or of a member. No step ever has to happen.
 */

#define MEMBERS 3
#define MAJORITY 2
#define CANDIDATES 2
/* The highest ballot that is prepared. Each round has two ballots, one of each candidate; the run begins after ballot 2. */
#ifndef LAST_BALLOT
#define LAST_BALLOT 7
#endif
/* The number of puts of A, which has written last when the run begins, and of B. */
#ifndef PUTS_A
#define PUTS_A 1
#endif
#ifndef PUTS_B
#define PUTS_B 1
#endif
#define WRITES (2 + PUTS_A + PUTS_B)
#define BALLOTS (LAST_BALLOT + 2 * PUTS_A + 2 * PUTS_B + 1)

/* The phase of a candidate. */
#define IDLE 0
#define READING 1
#define PREPARING 2
#define ACCEPTING 3

/* The answer of a member to a candidate in this round. */
#define AWAITED 0
#define GIVEN 1 /* the member's state, as read or as just written there */
#define REFUSED 2
#define SILENT 3
#define FORGOT 4 /* it shows less than is known of it */

/* A member's state. Every write changes it, so it also serves as the version. */
typedef Kept {
  byte promised; /* a ballot; 0: none */
  byte accepted; /* a ballot; 0: none */
  byte write /* what was accepted; 0: nothing */
}

/* A promise of each member. */
typedef Promises {
  byte at[MEMBERS]
}

/* A conditional write under way. */
typedef Request {
  bool flying;
  Kept before;
  Kept after
#ifdef FORGETS
  ;
  Promises seen
#endif
}

typedef Link {
  byte answer; /* AWAITED to FORGOT */
  Kept kept;
  Request latest; /* the one whose answer is awaited */
  Request late /* one that was given up; it may arrive all the same */
}

typedef Candidate {
  byte phase;
  bool putting; /* its call is a put, or else a get */
  bool sent; /* the write of this put may have been accepted somewhere */
  bool sentOnce; /* by this round only, if at all */
  bool leads; /* its last round was a put that a majority has confirmed: the next one needs no prepare */
  byte puts; /* how many are left */
  byte ballot; /* of this round, or of the last one */
  byte known; /* the write that it takes for the newest chosen one; 0: none */
  byte write; /* of its put */
  byte proposed; /* the write that it has accepted in this round */
  byte floor; /* what was chosen when its get began */
  Link to[MEMBERS]
#ifdef FAST_AFTER_REPAIR
  ;
  byte ledBy /* the ballot under which it came to lead */
#endif
#ifdef FORGETS
  ;
  Promises knows /* the highest of each that it knows of */
#endif
}

Kept member[MEMBERS];
Candidate cand[CANDIDATES];
byte parent[WRITES];
byte lastWrite;

/*
 * State that no process knows: which members have accepted each ballot, the ballot's write, and the puts that were told that they
 * were not stored.
 */
byte accepters[BALLOTS];
byte acceptedWrite[BALLOTS];
byte turnedDown;
bool isWrong;

/* The steps that may be taken. */
byte can[CANDIDATES];
byte canPair[CANDIDATES * MEMBERS];
bool canForget;

#ifdef FORGETS
/* The highest promise of each member that the last writer of a member knew. The member keeps these as well. */
Promises seen[MEMBERS];
/* One member forgets, once: it has an earlier state again. */
byte forgetful = MEMBERS;
bool hasForgotten;
Kept backup;
Promises backedUpSeen;
#endif



#include "claims.pml"
#include "member.pml"
#include "round.pml"

init {
  d_step { c_code { begin(); } }
  atomic {
    run link(5); run link(4); run link(3); run candidate(1);
    run link(2); run link(1); run link(0); run candidate(0)
#ifdef FORGETS
    ; run forgetting(0); run forgetting(1); run forgetting(2)
#endif
  }
}

/* A step that may be taken, and the claims after it. The possible steps are computed again after each step. */
#define STEP(may, what) d_step { may -> c_code { what; afterwards(); }; assert(!isWrong) }
#define CAN(what) ((can[me] >> what) & 1)
#define CAN_PAIR(what) ((canPair[pair] >> what) & 1)

proctype candidate(byte me) {
end:
  do
  :: STEP(CAN(0), get(Pcandidate->me))
  :: STEP(CAN(1), put(Pcandidate->me))
  :: STEP(CAN(2), afterRead(Pcandidate->me))
  :: STEP(CAN(3), afterPrepare(Pcandidate->me))
  :: STEP(CAN(4), afterAccept(Pcandidate->me))
  :: STEP(CAN(5), startOver(Pcandidate->me))
  :: STEP(CAN(6), giveUp(Pcandidate->me))
  od
}

/* The steps between one candidate and one member, which `pair` names. */
proctype link(byte pair) {
end:
  do
  :: STEP(CAN_PAIR(0), answerRead(Plink->pair))
  :: STEP(CAN_PAIR(1), deliver(Plink->pair))
  :: STEP(CAN_PAIR(2), deliverLate(Plink->pair))
  :: STEP(CAN_PAIR(3), beSilent(Plink->pair))
  :: STEP(CAN_PAIR(4), catchUp(Plink->pair))
  od
}

#ifdef FORGETS
/* A member has an earlier state again, or none. */
proctype forgetting(byte i) {
end:
  do
#ifndef WIPED_ONLY
  :: STEP(forgetful == MEMBERS, backUp(Pforgetting->i))
#endif
  :: STEP(forgetful == MEMBERS, wipe(Pforgetting->i))
  :: STEP(canForget && forgetful == i, forget(Pforgetting->i))
  od
}
#endif
