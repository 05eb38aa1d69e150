/*
 * The passing of time. A holder goes by the larger of two clocks, one of which keeps running whatever happens; a
 * rival by the monotonic one alone, which may stand still while its machine is suspended.
 */

/*
 * Of all the rates that clocks may have, those that give the most leeway do: a slow one to a holder, a fast one to a
 * rival. Whatever a candidate can do at other rates it can do at these: there is no step for which a holder's watch
 * has to show much (it may stop at any time anyway), nor one for which a rival's has to show little. EVERY_RATE tries
 * other rates nevertheless.
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

/* A watch that has reached its end need not go on. */
inline run_watch(age_, rate, end_) {
  age_ = age_ + rate;
  if
  :: age_ > end_ -> age_ = end_
  :: else
  fi
}

/* Each machine's clocks are slow or fast in this tick, and it is suspended or not. */
#define EACH_RATE_OF_A \
  EACH_RATE_OF_B(SLOW, SLOW) EACH_RATE_OF_B(FAST, FAST) EACH_RATE_OF_B(SLOW, 0) EACH_RATE_OF_B(FAST, 0)
#define EACH_RATE_OF_B(holderA, rivalA) \
  :: d_step { true -> tick(holderA, rivalA, SLOW, SLOW); AFTERWARDS } \
  :: d_step { true -> tick(holderA, rivalA, FAST, FAST); AFTERWARDS } \
  :: d_step { true -> tick(holderA, rivalA, SLOW, 0); AFTERWARDS } \
  :: d_step { true -> tick(holderA, rivalA, FAST, 0); AFTERWARDS }
