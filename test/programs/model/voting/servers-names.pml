/*
 * Runs at the end of each step. It keeps the number of states finite, and gives each state one form. What cannot change anything
 * any more is dropped. Terms are renamed, because only their order matters. Servers that are alike are sorted.
 */

c_code {
  static void dropThePast(void) {
    int nth;
    for (nth = 0; nth < CANDIDATES; nth++) {
      struct Candidate *c = &now.cand[nth];
      if (c->phase == CLAIMING && c->claimAge >= COUNTING) becomeStandby(nth);
      if (c->leads && c->age >= VALID) { MET("a leader whom no majority answers in time") becomeStandby(nth); }
      if (c->leadAge >= c->age || c->leadAge >= VALID) c->taken = 0;
    }
  }

  static void nameTermsAnew(void) {
    unsigned char *terms[2 + (3 + SERVERS) * SERVERS + CANDIDATES], **end = terms, **term, newTerm[64];
    int nth, count = 0;
    *end++ = &now.highestLed;
  #if ROLLBACKS > 0
    *end++ = &now.backupTerm;
  #endif
    for (nth = 0; nth < SERVERS; nth++) { *end++ = &now.voter[nth].term; *end++ = &now.voter[nth].fileTerm; *end++ = &now.voter[nth].floor; }
    for (nth = 0; nth < CANDIDATES; nth++) *end++ = &now.cand[nth].term;
  #ifdef LISTS
    int who;
    for (nth = 0; nth < SERVERS; nth++) for (who = 0; who < SERVERS; who++) *end++ = &now.voter[nth].told[who];
  #endif
    memset(newTerm, 0, sizeof(newTerm));
    for (term = terms; term < end; term++) newTerm[**term] = **term != 0;
    for (nth = 1; nth < sizeof(newTerm); nth++) { count += newTerm[nth]; newTerm[nth] = 2 * count; }
    for (term = terms; term < end; term++) **term = newTerm[**term];
    now.highest = 2 * count;
  }

  #define SWAP(type, one, other) { type kept = one; one = other; other = kept; }

  static void swapBits(unsigned char *set, int one, int other) {
    *set = *set & ~BIT(one) & ~BIT(other) | (*set >> one & 1) << other | (*set >> other & 1) << one;
  }

  static void swapServers(int one, int other) {
    int nth;
    SWAP(int, names[one], names[other])
    SWAP(struct Voter, now.voter[one], now.voter[other])
    if (other < CANDIDATES) SWAP(struct Candidate, now.cand[one], now.cand[other])
    for (nth = 0; nth < CANDIDATES; nth++) { swapBits(&now.cand[nth].votes, one, other); swapBits(&now.cand[nth].taken, one, other); }
  #ifdef LISTS
    for (nth = 0; nth < SERVERS; nth++) SWAP(int, now.voter[nth].told[one], now.voter[nth].told[other])
  #endif
  #if ROLLBACKS > 0
    swapBits(&now.remember, one, other);
    swapBits(&now.fileRemember, one, other);
    if (now.backedUp == one) now.backedUp = other;
    else if (now.backedUp == other) now.backedUp = one;
  #endif
  }

  static int compare(int one, int other) {
    struct Voter first = now.voter[one], second = now.voter[other];
    int nth, difference;
  #ifdef LISTS
    memset(first.told, 0, sizeof(first.told));
    memset(second.told, 0, sizeof(second.told));
  #endif
    difference = memcmp(&first, &second, sizeof(first));
    if (difference == 0 && other < CANDIDATES) {
      struct Candidate c = now.cand[one], d = now.cand[other];
      c.votes = c.taken = d.votes = d.taken = 0;
      difference = memcmp(&c, &d, sizeof(c));
    }
  #define COMPARE(set) if (difference == 0) difference = ((set) >> one & 1) - ((set) >> other & 1);
    if (other >= CANDIDATES) for (nth = 0; nth < CANDIDATES; nth++) { COMPARE(now.cand[nth].votes) COMPARE(now.cand[nth].taken) }
  #if ROLLBACKS > 0
    COMPARE(now.remember) COMPARE(now.fileRemember) COMPARE(BIT(now.backedUp))
  #endif
    return difference;
  }

  static void sortServers(void) {
  #ifdef LISTS
    if (compare(0, 1) < 0) swapServers(0, 1);
  #else
    int pass, nth;
    for (pass = 1; pass < SERVERS - CANDIDATES; pass++) for (nth = CANDIDATES; nth + 1 < SERVERS; nth++)
      if (compare(nth, nth + 1) < 0) swapServers(nth, nth + 1);
    if (compare(0, 1) < 0) {
      swapServers(0, 1);
      for (pass = 1; pass < SERVERS - CANDIDATES; pass++) for (nth = CANDIDATES; nth + 1 < SERVERS; nth++)
        if (compare(nth, nth + 1) < 0) swapServers(nth, nth + 1);
    }
  #endif
  }

  static void afterwards(void) {
    int me, who;
    dropThePast();
    for (me = 0; me < SERVERS; me++) listen(me);
    nameTermsAnew();
    sortServers();
    if (now.cand[0].leads && now.cand[1].leads) claimed = 2;
    now.isWrong = claimed != 0;
    if (claimed == 2) for (who = 0; who < CANDIDATES; who++) printf("\nVALID %c %d %d\n", 'A' + who, now.cand[who].age, VALID);
    if (claimed) printf("\nVIOLATED %s\n", claimed == 1 ? "a term does not rise" : "two candidates are valid at once");
    claimed = 0;
    for (me = 0; me < SERVERS; me++) {
      int can = mayTakePart(me) << 4;
      for (who = 0; who < CANDIDATES; who++) can |= mayVote(me, who) << who | mayTakeLead(me, who) << 2 + who;
      can |= (now.restartsLeft > 0 && !IS_OUT(me)) << 5;
      can |= (now.lossesLeft > 0 && !IS_OUT(me) && !now.voter[me].forgot && lost() < LOST_AT_ONCE) << 6;
  #if ROLLBACKS > 0
      can |= (now.backedUp == SERVERS && now.rollbacksLeft > 0 && takesPart(me)) << 7;
      can |= (now.backedUp == me && now.rollbacksLeft > 0 && takesPart(me) && lost() == 0 && now.wroteSince) << 8;
  #endif
  #ifdef LISTS
      can |= mayStartWithNextList(me) << 9;
  #endif
      now.can[me] = can;
      if (me < CANDIDATES) now.canClaim[me] = mayClaim(me);
    }
  }

  static void begin(void) {
    int nth;
    for (nth = 0; nth < SERVERS; nth++) {
      struct Voter *v = &now.voter[nth];
      v->age = LEASE;
  #ifdef LISTS
      v->isOut = nth > 2;
      if (v->isOut) continue;
  #endif
      v->fileTerm = v->term = 2;
    }
    becomeStandby(0);
    becomeStandby(1);
    now.claimsLeft = CLAIMS;
    now.restartsLeft = RESTARTS;
    now.lossesLeft = LOSSES;
    now.rollbacksLeft = ROLLBACKS;
    afterwards();
  }
}
