/* The conditions of each step: `ballots.ts`, `admission.ts`, `roster.ts` in the code. */

c_code {
  #define TELL if (readtrail) printf("\nSTEP %c ", 'A' + names[me]), printf
  #define MET(what) { static int met; if (!met) { met = 1; printf("\nSHOWN %s\n", what); } }
  #define BIT(server) (1 << (server))
  #define ALL (BIT(SERVERS) - 1)

  extern int readtrail;
  /* The names of the servers in the account of a run: see sortServers. */
  static int names[] = { 0, 1, 2, 3, 4 };

  static int bits(int set) { return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1) + (set >> 3 & 1) + (set >> 4 & 1); }
  #ifdef LISTS
  #define LIST(who) now.voter[who].list
  #define IS_OUT(who) now.voter[who].isOut
  #define HAS_MOVED(who) now.voter[who].moved
  static int sizeOf(int list) { return 3 + list; }
  #else
  #define LIST(who) 0
  #define IS_OUT(who) 0
  #define HAS_MOVED(who) 0
  static int sizeOf(int list) { return SERVERS; }
  #endif
  static int majorityOf(int size) { return size / 2 + 1; }
  static int isMajority(int list, int set) { return bits(set) >= majorityOf(sizeOf(list)); }
  static int hearsOf(int me, int who) { return LIST(me) == LIST(who) && !IS_OUT(me) && !IS_OUT(who); }

  static int takesPart(int me) { struct Voter *v = &now.voter[me]; return !v->forgot && !v->unsure && !HAS_MOVED(me) && !IS_OUT(me); }
  /* A LEAD or the server's start still blocks its votes. */
  static int refuses(int me) { return !takesPart(me) || now.voter[me].age < LEASE; }

  /* A server has one vote in each term, so it does not vote in a term that it knows already. */
  static int mayVote(int me, int who) {
    struct Candidate *c = &now.cand[who];
    return c->phase == CLAIMING && hearsOf(me, who) && c->term > now.voter[me].term && !refuses(me);
  }

  /* A server refuses a LEAD below its term, and accepts one above it. */
  static int mayTakeLead(int me, int who) {
    struct Candidate *c = &now.cand[who];
    struct Voter *v = &now.voter[me];
    if (c->phase != ELECTED || c->leadAge >= VALID || !hearsOf(me, who)) return 0;
  #ifndef FORGETFUL_ACKNOWLEDGES
    if (!takesPart(me)) return 0;
  #endif
    return c->term > v->term || c->term == v->term && !v->heard;
  }

  static int lost(void);
  static int haveAllTold(int me);

  /*
   * The number of others that must report. A server that has lost its disk needs all but a minority. A server with a new list
   * needs a majority, itself included.
   */
  static int neededBy(int me) {
    int size = sizeOf(LIST(me)), needed = size - majorityOf(size) + 1;
    if (!now.voter[me].forgot) return majorityOf(size) - 1;
  #ifdef FLOOR_OF_TOO_FEW
    needed--;
  #endif
    return needed < size - 1 ? needed : size - 1;
  }

  static int lowestOf(unsigned char *told, int needed) {
    int who, term, count;
    for (term = 1; term < 64; term++) {
      for (count = 0, who = 0; who < SERVERS; who++) count += told[who] != 0 && told[who] <= term;
      if (count >= needed) return term;
    }
    return 0;
  }

  /*
   * The reports to a server that takes no part yet. It asks again and again, and any answer may be lost. Terms only rise, and a
   * server that was told less refuses less. So it is enough to take each report as early as possible, from the servers that know
   * least.
   */
  static void listen(int me) {
    struct Voter *v = &now.voter[me];
    int who, all = 1, floor, isLate = v->age >= LONGEST_CLAIM;
  #ifdef LISTS
    unsigned char *told = v->told;
  #else
    unsigned char told[SERVERS] = { 0 };
  #endif
    if (takesPart(me) || IS_OUT(me) || v->unsure) return;
  #ifdef HEEDS_AT_ONCE
    isLate = 1;
  #endif
    for (who = 0; who < SERVERS; who++) if (who != me && hearsOf(me, who) && !now.voter[who].forgot) {
      if (told[who] == 0 && (!v->forgot || isLate)) told[who] = now.voter[who].term;
    } else if (who != me && who < sizeOf(LIST(me))) all = 0;
    /* If all have reported, the time of the reports does not matter. */
    if (v->forgot && v->age == 0 && v->floor == 0 && all)
      for (who = 0; who < SERVERS; who++) if (who != me && hearsOf(me, who) && now.voter[who].term > v->floor) v->floor = now.voter[who].term;
    floor = lowestOf(told, neededBy(me));
    if (floor != 0 && (v->floor == 0 || floor < v->floor)) v->floor = floor;
  }

  static int mayTakePart(int me) {
    struct Voter *v = &now.voter[me];
    if (IS_OUT(me) || takesPart(me)) return 0;
    /* The server asks all others, and they answer. */
    if (v->unsure) return lost() == 1;
  #ifdef NO_WAIT_AFTER_LOSS
    return v->floor != 0;
  #else
    return v->floor != 0 && (v->age >= LEASE || !v->forgot && haveAllTold(me));
  #endif
  }

  static int lost(void) {
    int nth, lost = 0;
    for (nth = 0; nth < SERVERS; nth++) lost += now.voter[nth].forgot || now.voter[nth].unsure;
    return lost;
  }

  static int haveAllTold(int me) {
    int count = 0;
  #ifdef LISTS
    int who;
    for (who = 0; who < SERVERS; who++) count += now.voter[me].told[who] != 0;
  #endif
    return count == sizeOf(LIST(me)) - 1;
  }

  #ifdef LISTS
  #ifdef LISTS_BY_TWO
  #define LIST_STEP 2
  #else
  #define LIST_STEP 1
  #endif
  /*
   * One list follows the other, and all servers must have a list before the next one. A new server starts with the first list
   * that has it.
   */
  static int mayStartWithNextList(int me) {
    struct Voter *v = &now.voter[me];
    int nth;
    if (v->isOut) return 1;
    if (v->list + LIST_STEP > 2 || v->moved || v->forgot) return 0;
    /* The server has met all of its list with this list. */
    for (nth = 0; nth < sizeOf(v->list); nth++) if (now.voter[nth].isOut || now.voter[nth].list < v->list) return 0;
    return 1;
  }
  #endif
}
