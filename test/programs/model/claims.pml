/* The claims, which must hold in every run. */

#define CLAIM(holds, sentence) \
  if \
  :: !(holds) -> \
     printf("\nVIOLATED "); \
     printf(sentence); \
     assert(false) \
  :: else \
  fi

/* The result of `isValid()` at any time. A term ends before its release is sent. */
#ifdef VALID_UNTIL_RELEASED
#define LEADS(who) (cand[who].phase >= LEADING)
#else
#define LEADS(who) (cand[who].phase == LEADING || cand[who].phase == RENEWING)
#endif
#define IS_VALID(who) (LEADS(who) && cand[who].age < VALID(who))

#define MUTUAL_EXCLUSION \
  if \
  :: IS_VALID(0) && IS_VALID(1) -> \
     printf("\nVALID A %d %d", cand[0].age, VALID(0)); \
     printf("\nVALID B %d %d", cand[1].age, VALID(1)) \
  :: else \
  fi; \
  CLAIM(!(IS_VALID(0) && IS_VALID(1)), "two candidates are valid at once")
