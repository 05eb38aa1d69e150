/*
 * Runs at the end of each step. It keeps the number of states finite, and gives each state one form. It is written in C for
 * speed.
 *
 * A leader's age is that of the latest LEAD that a majority has accepted. Once this LEAD is out, the term has ended. What cannot
 * change anything any more is dropped: the acknowledgements of a LEAD that counts already, and a LEAD that would only block
 * voters.
 *
 * Only the order matters for terms. The terms still in use are renamed to 2, 4, 6 and so on, so that a term in between can always
 * be claimed.
 */

#define AFTERWARDS BREAKS_HOLD; count(); drop_the_past(); name_terms_anew(); name_candidates_anew(); MUTUAL_EXCLUSION

#define ARE_TWO_VALID (IS_VALID(0) && IS_VALID(1) && !IS_EXEMPT(0) && !IS_EXEMPT(1))
#define MUTUAL_EXCLUSION \
  if \
  :: ARE_TWO_VALID -> \
     printf("\nVALID A %d %d", cand[0].age, VALID); \
     printf("\nVALID B %d %d", cand[1].age, VALID) \
  :: else \
  fi; \
  CLAIM(!ARE_TWO_VALID, "two candidates are valid at once")

/* Both candidates may do the same. If the account of a run does not matter, one of each two such states is enough. */
#ifdef ALIKE
#define ARE_ALIKE 1
#else
#define ARE_ALIKE 0
#endif

c_decl {
  static unsigned char newTerm[64];
  static void swapBits(unsigned char *set) { *set = (*set & 4) | (*set & 1) << 1 | (*set & 2) >> 1; }
  static int isMajority(int set, int list) { return list == 0 ? set == 3 || set >= 5 : list == 1 ? set == 3 : set == 1; }
}

#ifdef RELEASE_OF_ANY_TERM
#define KEEPS_RELEASES 1
#else
#define KEEPS_RELEASES 0
#endif

#ifdef LISTS
#define LIST_OF(who) now.voter[who].list
#else
#define LIST_OF(who) 0
#endif

inline count() {
  c_code {
    int who;
    for (who = 0; who < CANDIDATES; who++) {
      struct Candidate *candidate = &now.cand[who];
      struct Lead *leads[] = { &candidate->latest, &candidate->earlier };
      int nth;
      for (nth = 0; nth < 2; nth++) {
        if (candidate->phase == ELECTED && isMajority(leads[nth]->taken, LIST_OF(who)) && leads[nth]->age < candidate->age)
          candidate->age = leads[nth]->age;
        if (candidate->phase != ELECTED || candidate->age <= leads[nth]->age) leads[nth]->taken = 0;
      }
      if (candidate->phase == ELECTED && candidate->age <= candidate->earlier.age) candidate->earlier.age = VALID;
      if (candidate->phase >= ELECTED && candidate->leads && candidate->age >= VALID) {
        candidate->phase = STANDBY; candidate->term = 0; candidate->leads = 0;
        candidate->latest.age = candidate->earlier.age = VALID;
        candidate->latest.taken = candidate->earlier.taken = 0;
        MET("a leader whom no majority answers in time")
      }
    }
  }
}

/* An order has no use any more once its term is not led, not on a disk and not under way. */
#ifdef BREAKS
#ifdef BREAK_OF_ANY_TERM
#define KEEPS_ORDERS 1
#else
#define KEEPS_ORDERS 0
#endif
#define FORGET_ORDER { \
  int nth, isOfUse = KEEPS_ORDERS; \
  for (nth = 0; nth < SERVERS; nth++) \
    if (now.voter[nth].term == now.ordered || now.voter[nth].fileTerm == now.ordered) isOfUse = 1; \
  for (nth = 0; nth < CANDIDATES; nth++) if (now.cand[nth].term == now.ordered) isOfUse = 1; \
  if (now.ordered != 0 && !isOfUse) now.ordered = now.isTold = 0; \
}
#define ORDERED *end++ = &now.ordered;
#else
#define FORGET_ORDER
#define ORDERED
#endif


inline drop_the_past() {
  c_code {
    int who, server;
    for (who = 0; who < CANDIDATES; who++) {
      struct Candidate *candidate = &now.cand[who];
      int isKnown = KEEPS_RELEASES || candidate->phase == RELEASED;
      for (server = 0; server < SERVERS; server++) {
        struct Voter *voter = &now.voter[server];
        if (voter->term == candidate->released || voter->floor == candidate->released) isKnown = 1;
      }
      if (!isKnown) candidate->released = 0;
    }
    FORGET_ORDER
  }
}

inline name_terms_anew() {
  c_code {
    unsigned char *terms[5 + 4 * SERVERS + 2 * CANDIDATES], **end = terms, **term;
    int nth, count = 0;
    *end++ = &now.highestLed;
    ORDERED
    for (nth = 0; nth < SERVERS; nth++) {
      *end++ = &now.voter[nth].term;
      *end++ = &now.voter[nth].fileTerm;
      *end++ = &now.voter[nth].floor;
    }
    for (nth = 0; nth < CANDIDATES; nth++) {
      *end++ = &now.cand[nth].term;
      *end++ = &now.cand[nth].released;
    }
    memset(newTerm, 0, sizeof(newTerm));
    for (term = terms; term < end; term++) newTerm[**term] = **term != 0;
    for (nth = 1; nth < sizeof(newTerm); nth++) {
      count += newTerm[nth];
      newTerm[nth] = 2 * count;
    }
    for (term = terms; term < end; term++) **term = newTerm[**term];
    now.highest = 2 * count;
  }
}

inline name_candidates_anew() {
  c_code {
    int order = memcmp(&now.cand[0], &now.cand[1], sizeof(now.cand[0]));
    if (order == 0) order = memcmp(&now.voter[0], &now.voter[1], sizeof(now.voter[0]));
    if (ARE_ALIKE && order < 0) {
      int nth;
      struct Candidate candidate = now.cand[0];
      struct Voter voter = now.voter[0];
      now.cand[0] = now.cand[1];
      now.cand[1] = candidate;
      now.voter[0] = now.voter[1];
      now.voter[1] = voter;
      for (nth = 0; nth < CANDIDATES; nth++) {
        swapBits(&now.cand[nth].votes);
        swapBits(&now.cand[nth].latest.taken);
        swapBits(&now.cand[nth].earlier.taken);
      }
      for (nth = 0; nth < SERVERS; nth++) swapBits(&now.voter[nth].toldBy);
    }
  }
}
