/*
 * The passing of time. A holder uses the larger of two clocks, one of which always keeps running. A rival uses the monotonic
 * clock alone, which may stop while its machine is suspended.
 */

/*
 * The rates that allow the most are a slow clock of a holder and a fast clock of a rival. A candidate can do everything at these
 * rates that it can do at others. No step needs a holder's watch to show much, because a holder may stop at any time. No step
 * needs a rival's watch to show little. EVERY_RATE tries other rates nevertheless.
 */
inline tick(holderA, rivalA, holderB, rivalB) {
  printf("\nTICK %d %d %d %d", holderA, rivalA, holderB, rivalB);
  advance(0, holderA, rivalA);
  advance(1, holderB, rivalB)
}

inline advance(who, holderRate, rivalRate) {
  if
  :: LEADS(who) -> run_watch(cand[who].age, holderRate, VALID(who))
  :: else
  fi;
  if
  :: cand[who].latest.remembered -> run_watch(cand[who].latest.age, holderRate, VALID(who))
  :: else
  fi;
  if
  :: cand[who].earlier.remembered -> run_watch(cand[who].earlier.age, holderRate, VALID(who))
  :: else
  fi;
  if
  :: cand[who].seenNonce != 0 && !cand[who].seenVacant -> run_watch(cand[who].seenAge, rivalRate, WAIT(who))
  :: else
  fi
#ifdef COUNT_FROM_READ_SENT
  ;
  if
  :: cand[who].asked -> run_watch(cand[who].askedAge, rivalRate, LEASE(1))
  :: else
  fi
#endif
}

/* A watch that has reached its end stops. */
inline run_watch(age_, rate, end_) {
  age_ = age_ + rate;
  if
  :: age_ > end_ -> age_ = end_
  :: else
  fi
}

/* In this tick, each machine's clocks are slow or fast, and the machine is suspended or not. */
#define EACH_RATE_OF_A \
  EACH_RATE_OF_B(SLOW, SLOW) EACH_RATE_OF_B(FAST, FAST) EACH_RATE_OF_B(SLOW, 0) EACH_RATE_OF_B(FAST, 0)
#define EACH_RATE_OF_B(holderA, rivalA) \
  :: d_step { true -> tick(holderA, rivalA, SLOW, SLOW); AFTERWARDS } \
  :: d_step { true -> tick(holderA, rivalA, FAST, FAST); AFTERWARDS } \
  :: d_step { true -> tick(holderA, rivalA, SLOW, 0); AFTERWARDS } \
  :: d_step { true -> tick(holderA, rivalA, FAST, 0); AFTERWARDS }
