/*
 * The record protocol of Leasehold. Candidates compete for one lease, which is kept in one record of a store with
 * compare-and-swap only. README.md beside this file says what is modelled, what is not, and why that is sound.
 *
 * One step at a time is chosen freely: a step of a candidate or of the store, or the passing of a tick. No step ever has to
 * happen, so the runs include every delay, loss and freeze of any length.
 */

#define CANDIDATES 2
/* The units by which a clock advances in a tick: from SLOW to FAST. */
#ifndef FAST
#define FAST 100
#endif
#ifndef SLOW
#define SLOW 90
#endif
/* The share of its lease that a holder leaves unused, in percent. */
#ifndef MARGIN
#define MARGIN 10
#endif
/* The lease of candidate A, in ticks of a fast clock; B's is one tick longer. */
#ifndef TICKS
#define TICKS 2
#endif
#define LEASE(who) (FAST * (TICKS + who))
#define VALID(who) (LEASE(who) * (100 - MARGIN) / 100)

/* The phase of a candidate. */
#define STANDBY 0
#define ACQUIRING 1 /* an acquisition is sent */
#define LEADING 2
#define RENEWING 3 /* a renewal is sent */
#define RELEASING 4 /* the term has ended, and a release is sent or to be sent */

/* Kinds of writes. */
#define NOTHING 0
#define ACQUIRE 1
#define RENEW 2
#define RELEASE 3

/* No administrator writes here, so each write has a new nonce. The nonce also serves as the version. */
typedef Record {
  byte term;
  byte owner;
  byte termId; /* 0: vacated */
  byte nonce
}

/* A conditional write, and its sender's memory of it. */
typedef Write {
  byte kind;
  bool flying; /* may still be delivered, for the first time or once more */
  bool remembered; /* the time of its sending may still count */
  bool stored; /* a reply that says so is under way to the sender, which waits for it */
#ifdef UNDURABLE
  bool acknowledged; /* that reply may arrive: the write outlasts a failover */
#endif
  byte term;
  byte termId;
  byte nonce;
  byte ifVersion;
  short age /* since before it was sent */
}

typedef Candidate {
  byte phase;
  /* The candidate's lease, from LEADING on. */
  byte term;
  byte termId;
  byte version;
  short age; /* since before the send of the last request that is known to have extended it */
  /* The record as the candidate has observed it last. */
  byte seenTerm;
  byte seenOwner;
  byte seenNonce; /* 0: nothing */
  bool seenVacant;
  short seenAge; /* since the end of the read that first showed this nonce */
  /* The reply to its read, under way. */
  bool replied;
  Record reply;
#ifdef COUNT_FROM_READ_SENT
  bool asked;
  short askedAge;
#endif
  /* The candidate's last two writes. It may await the reply to the later one. */
  Write latest;
  Write earlier;
  /* Bit n is set if this process has a term with the termId n on which it does not lead. */
  int abandoned;
  /* A guarded write under way to some resource; 0 if there is none. */
  byte guardTerm;
  byte guardTermId
}

Record record;
#ifdef UNDURABLE
/* The record as a failover would leave it. */
Record durable;
/* The highest term that was ever led. */
byte ledTerm;
#endif
Candidate cand[CANDIDATES];
/* The highest term of an accepted guarded write. */
byte acceptedTerm;
/* The ids in use are 1 to this. */
byte usedIds = 1;

#define C cand[me]
/* The text of this step when the run is replayed. */
#define TELL printf("\nSTEP %c ", 'A' + me); printf
/* A situation that must be reachable if the protocol is right. The search prints it when it first gets there. */
#define SHOWN(what) c_code { MET(what) }
#define MET(what) { static int met; if (!met) { met = 1; printf("\nSHOWN %s\n", what); } }

#include "claims.pml"
#include "candidate.pml"
#include "durability.pml"
#include "store.pml"
#include "time.pml"
#include "afterwards.pml"

init {
  d_step { record.term = 1; record.nonce = 1; ALL_IS_DURABLE }
  atomic {
    run time();
#ifdef UNDURABLE
    run replica();
#endif
    run store(1); run candidate(1);
    run store(0); run candidate(0)
  }
}

proctype candidate(byte me) {
end:
  do
#ifdef COUNT_FROM_READ_SENT
  :: d_step { MAY_ASK -> ask(); AFTERWARDS }
#endif
  :: d_step { C.replied -> receive(); AFTERWARDS }
  :: d_step { MAY_ACQUIRE -> acquire(); AFTERWARDS }
  :: d_step { MAY_RENEW -> renew(); AFTERWARDS }
#ifndef NO_RELEASES
  :: d_step { MAY_RELEASE -> release(); AFTERWARDS }
#endif
  :: d_step { C.latest.stored && IS_ACKNOWLEDGED(C.latest) -> hear(); AFTERWARDS }
#ifndef NO_GUARDED_WRITES
  :: d_step { MAY_GUARD -> guard(); AFTERWARDS }
#endif
#ifndef NO_RELEASES
  :: d_step { MAY_FINISH -> finish(); AFTERWARDS }
#endif
  :: d_step { MAY_STOP -> stop(); AFTERWARDS }
#ifndef NO_RESTARTS
  :: d_step { true -> crash(); AFTERWARDS }
#endif
  od
}

/* The store carries out the requests of one candidate in any order, late, again, or never. */
proctype store(byte me) {
end:
  do
#ifdef INSTANT_READS
  :: d_step { MAY_ANSWER -> answer(); receive(); AFTERWARDS }
#else
  :: d_step { MAY_ANSWER -> answer(); AFTERWARDS }
#endif
  :: d_step { C.latest.flying -> deliver(C.latest, AWAITS); AFTERWARDS }
  :: d_step { C.earlier.flying -> deliver(C.earlier, false); AFTERWARDS }
  :: d_step { MAY_LOSE_EARLIER -> lose_earlier(); AFTERWARDS }
  :: d_step { C.guardTermId != 0 -> deliver_guarded(); AFTERWARDS }
  od
}

#ifdef UNDURABLE
proctype replica() {
end:
  do
  :: d_step { durable.nonce != record.nonce -> replicate(); AFTERWARDS }
  :: d_step { durable.nonce != record.nonce -> fail_over(); AFTERWARDS }
  od
}
#endif

proctype time() {
end:
  do
#ifdef EVERY_RATE
  EACH_RATE_OF_A
#else
  :: d_step { true -> tick(SLOW, FAST, SLOW, FAST); AFTERWARDS }
#endif
#ifdef HOLDER_BY_MONOTONIC
  /* One machine is suspended, and its monotonic clock with it. */
  :: d_step { true -> tick(0, 0, SLOW, FAST); AFTERWARDS }
  :: d_step { true -> tick(SLOW, FAST, 0, 0); AFTERWARDS }
#endif
  od
}
