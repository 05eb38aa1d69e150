/*
 * One election among three servers that have no store. README.md in the folder above says what is modelled, what is not, and why
 * that is sound.
 *
 * One step at a time is chosen freely. No step ever has to happen, so the runs include every delay, loss and freeze.
 */

#define SERVERS 3
/* Servers 0 and 1 compete; server 2 only votes. */
#define CANDIDATES 2
#define MAJORITY(who, set) \
  (LIST(who) == 0 && ((set) == 3 || (set) >= 5) || LIST(who) == 1 && (set) == 3 || LIST(who) == 2 && (set) == 1)

/* The units by which a clock advances in a tick: SLOW for a leader, FAST for a voter. */
#define FAST 100
#ifndef SLOW
#define SLOW 90
#endif
#define LEASE 200
/* A leader leaves a tenth of its lease unused. */
#define VALID 180

/* The phase of a candidate. */
#define STANDBY 0
#define CLAIMING 1 /* its ELECT is under way */
#define ELECTED 2 /* a majority has voted for it: it sends LEAD */
#define RELEASED 3 /* its validity has ended, and RELEASE is under way */

/* The message of its term's leader that a voter has heard last, of those that the leader remembers. */
#define NONE 0
#define EARLIER 1
#define LATEST 2
#define RELEASE 3

typedef Voter {
  /* On the disk, before the server answers. */
  byte fileTerm;
  bool fileLease;
  /* In memory. */
  byte term;
  byte heard;
  short age; /* since the last LEAD that it accepted, or its start; LEASE: it blocks no candidate */
  /* The server has lost its disk. It neither votes nor acknowledges until it knows what the others know. */
  bool forgot;
  byte toldBy; /* a bit for each server that has told it its term since the start */
  byte floor
#ifdef RELEASE_WITHOUT_NUMBER
  ;
  bool freed
#endif
#ifdef LISTS
  ;
  byte list;
  bool moved
#endif
#ifdef BREAKS
  ;
  /* The voter's term is broken: in memory, and on its disk. */
  bool broken;
  bool fileBroken
#endif
}

/* A LEAD. It may arrive at any time, more than once, or never, and so may its answers. */
typedef Lead {
  short age; /* since before it was first sent */
  byte taken /* a bit for each server that has acknowledged it */
#ifdef BREAKS
  ;
  bool late /* it was first sent after an administrator was told that its term is broken */
#endif
}

typedef Candidate {
  byte phase;
  byte term;
  byte votes; /* a bit for each server that has voted for it */
  bool leads; /* it has heard that a majority has acknowledged a LEAD in time */
  short age; /* since the send of the latest LEAD that a majority has acknowledged */
  Lead latest;
  Lead earlier;
  /* The term of the last RELEASE that this candidate has sent. It may arrive at any time. */
  byte released
}

Voter voter[SERVERS];
Candidate cand[CANDIDATES];
/* The highest term that was ever led, and the highest known term. */
byte highestLed;
byte highest;
#ifdef BREAKS
/*
 * The term of an order, which may arrive at any server at any time. Also whether the administrator was told that a majority has
 * it.
 */
byte ordered;
bool isTold;
#endif

#define C cand[me]
#define V voter[me]
#define BIT(server) (1 << (server))
/* The text of this step when the run is replayed. */
#define TELL printf("\nSTEP %c ", 'A' + me); printf
/* A situation that must be reachable if the protocol is right. The search prints it when it first gets there. */
#define SHOWN(what) c_code { MET(what) }
#define MET(what) { static int met; if (!met) { met = 1; printf("\nSHOWN %s\n", what); } }

#define CLAIM(holds, sentence) \
  if \
  :: !(holds) -> \
     printf("\nVIOLATED "); \
     printf(sentence); \
     assert(false) \
  :: else \
  fi

#ifdef VALID_UNTIL_LATER
#define MAY_BE_VALID(who) (cand[who].phase >= ELECTED)
#else
#define MAY_BE_VALID(who) (cand[who].phase == ELECTED)
#endif
#define IS_VALID(who) (MAY_BE_VALID(who) && cand[who].leads && cand[who].age < VALID)

/* A watch that has reached its end stops. */
inline run_watch(age_, rate, end_) {
  age_ = age_ + rate;
  if
  :: age_ > end_ -> age_ = end_
  :: else
  fi
}

#include "lists.pml"
#include "break.pml"
#include "voter.pml"
#include "candidate.pml"
#include "afterwards.pml"

init {
  d_step {
    byte nth = 0;
    do
    :: nth < SERVERS ->
       voter[nth].fileTerm = 2; voter[nth].term = 2; voter[nth].age = LEASE; nth++
    :: else -> break
    od;
    become_standby(0);
    become_standby(1);
    highest = 2;
    nth = 0
  }
  atomic { run time(); run server(2); run server(1); run server(0); run candidate(1); run candidate(0) }
}

proctype candidate(byte me) {
end:
  do
  :: d_step { MAY_CLAIM(1) -> claim(1); AFTERWARDS }
  :: d_step { MAY_CLAIM(2) -> claim(2); AFTERWARDS }
  :: d_step { MAY_CLAIM(3) -> claim(3); AFTERWARDS }
  :: d_step { MAY_CLAIM(4) -> claim(4); AFTERWARDS }
  :: d_step { MAY_CLAIM(5) -> claim(5); AFTERWARDS }
  :: d_step { MAY_CLAIM(6) -> claim(6); AFTERWARDS }
  :: d_step { MAY_CLAIM(7) -> claim(7); AFTERWARDS }
  :: d_step { MAY_WIN -> win(); AFTERWARDS }
  :: d_step { MAY_SEND_LEAD -> send_lead(); AFTERWARDS }
#ifdef COUNT_FROM_RESEND
  :: d_step { C.phase == ELECTED && C.latest.age > 0 -> resend(); AFTERWARDS }
#endif
  :: d_step { MAY_LEAD -> lead(); AFTERWARDS }
#ifndef NO_RELEASE
  :: d_step { C.phase == ELECTED -> release(); AFTERWARDS }
#endif
  :: d_step { C.phase != STANDBY -> stop(); AFTERWARDS }
#ifdef BREAKS
  :: d_step { MAY_ORDER -> order(); AFTERWARDS }
#endif
  od
}

/* The messages from each candidate to one server, and the server's faults. */
proctype server(byte me) {
end:
  do
  :: d_step { MAY_VOTE(0) -> vote(0); AFTERWARDS }
  :: d_step { MAY_VOTE(1) -> vote(1); AFTERWARDS }
  :: d_step { MAY_TAKE_LATEST(0) -> take(0, LATEST); AFTERWARDS }
  :: d_step { MAY_TAKE_LATEST(1) -> take(1, LATEST); AFTERWARDS }
  :: d_step { MAY_TAKE_EARLIER(0) -> take(0, EARLIER); AFTERWARDS }
  :: d_step { MAY_TAKE_EARLIER(1) -> take(1, EARLIER); AFTERWARDS }
#ifndef NO_RELEASE
  :: d_step { MAY_HEAR_RELEASE(0) -> hear_release(0); AFTERWARDS }
  :: d_step { MAY_HEAR_RELEASE(1) -> hear_release(1); AFTERWARDS }
#endif
#ifdef BREAKS
  :: d_step { MAY_BREAK -> take_break(); AFTERWARDS }
#endif
#ifndef NO_RESTART
  :: d_step { true -> restart(); AFTERWARDS }
#endif
#ifdef LISTS
  :: d_step { MAY_MOVE -> move(); restart(); AFTERWARDS }
  :: d_step { MAY_JOIN(0) -> join(0); AFTERWARDS }
  :: d_step { MAY_JOIN(1) -> join(1); AFTERWARDS }
#endif
#ifdef WIPES
  :: d_step { MAY_FORGET -> forget(); AFTERWARDS }
#endif
#ifdef WIPES
  :: d_step { MAY_BE_TOLD(0) -> be_told(0); AFTERWARDS }
  :: d_step { MAY_BE_TOLD(1) -> be_told(1); AFTERWARDS }
  :: d_step { MAY_BE_TOLD(2) -> be_told(2); AFTERWARDS }
#endif
#ifdef WIPES
  :: d_step { MAY_RETURN -> return_(); AFTERWARDS }
#endif
  od
}

/* A slow clock of a leader and a fast clock of a voter allow the most. Neither ever prevents a step. */
proctype time() {
  byte who;
end:
  do
  :: d_step {
       true ->
       printf("\nTICK %d %d %d %d", SLOW, FAST, SLOW, FAST);
       for (who : 0 .. SERVERS - 1) { run_watch(voter[who].age, FAST, LEASE) }
       for (who : 0 .. CANDIDATES - 1) {
         run_watch(cand[who].age, SLOW, VALID);
         run_watch(cand[who].latest.age, SLOW, VALID);
         run_watch(cand[who].earlier.age, SLOW, VALID)
       }
       who = 0;
       AFTERWARDS
     }
  od
}
