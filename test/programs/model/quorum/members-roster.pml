/* The members whose answers count: `Membership` in the code. */

c_code {
  static int isIn(int me, int i) {
    struct Process *p = &now.process[me];
    return p->roster != 0 && p->shown[i] == now.rosters[p->roster].marker[i];
  }

  static void lookAt(int me, int i) {
    struct Process *p = &now.process[me];
    struct Store *store = &now.store[storeOf(me, i)];
    p->shown[i] = store->marker == 0 ? NO_MARKER : store->marker;
    p->rosters[i] = store->kept[ROSTER].write;
  }

  /* A replacement store starts empty. Its lack of an accepted value is ignored, unless all members answer. */
  static int countingInElection(int me, int all) {
    struct Roster *roster = &now.rosters[now.process[me].roster];
    int i, members = 0, counting = 0;
    for (i = 0; i < MEMBERS; i++) if (all >> i & 1 && isIn(me, i)) members |= 1 << i;
    for (i = 0; i < MEMBERS; i++) if (members >> i & 1) {
      struct Kept *kept = keptAt(me, ELECTION, i);
  #ifdef EMPTY_COUNTS
      int isEmptyOne = 1;
  #else
      int isEmptyOne = members == 7 || !(roster->later >> i & 1);
  #endif
      int isKnowing = kept->marker == roster->marker[i];
      if (kept->accepted != 0 ? isKnowing : isEmptyOne) counting |= 1 << i;
    }
    return counting;
  }

  /* The members of a set whose answers are those of members that have not forgotten. */
  static int rememberingOf(int me, int record, int set) {
  #ifdef FORGETS
    if (record == ROSTER && keptAt(me, ROSTER, MEMBERS - 1)->promised < now.process[me].known) return set & ~(1 << MEMBERS - 1);
  #endif
    return set;
  }

  static int isClaim(int record, int write) {
    return record == ROSTER && write != 0 && now.rosters[write].number == 0;
  }

  /* How many members have to accept a write, so that it is chosen. */
  static int neededFor(int record, int write) {
  #ifdef CLAIMED_BY_MAJORITY
    return MAJORITY;
  #else
    return isClaim(record, write) ? MEMBERS : MAJORITY;
  #endif
  }

  /* The members whose stores a roster or a claim names. */
  static int sharedWith(int me, int roster) {
    int i, shared = 0;
    for (i = 0; i < MEMBERS; i++) if (now.process[me].shown[i] == now.rosters[roster].marker[i]) shared |= 1 << i;
    return shared;
  }

  /* Those of them of which every claim that was replaced before names the same store. */
  static int coreWith(int me, int roster) {
  #ifdef IGNORES_FORMER_CLAIMS
    return sharedWith(me, roster);
  #else
    return sharedWith(me, roster) & ~now.rosters[roster].later;
  #endif
  }

  /* A claim of other stores may replace this one. */
  static int isGivenUp(int me, int record, int write) {
    if (!isClaim(record, write)) return 0;
  #ifdef REPLACES_ANY_CLAIM
    return sharedWith(me, write) != 7;
  #else
    return sharedWith(me, write) != 7 && bits(coreWith(me, write)) >= MAJORITY;
  #endif
  }

  /* No roster older than this one can be chosen any more. */
  static int isFree(int me, int write, int remembering) {
    if (write == 0) return 1;
  #ifdef REPLACES_ANY_CLAIM
    if (isGivenUp(me, ROSTER, write)) return 1;
  #endif
  #ifdef OWN_CLAIM_BLOCKS
    if (!isGivenUp(me, ROSTER, write)) return 0;
  #endif
    return bits(coreWith(me, write) & remembering) >= MAJORITY;
  }

  static int acceptedNone(int me, int set) {
    int i, none = 0;
    for (i = 0; i < MEMBERS; i++) none += set >> i & 1 && keptAt(me, ROSTER, i)->accepted == 0;
    return none;
  }

  /* The newest roster that a set shows. A claim above it, by ballot, shows that it was not chosen. */
  static int newestAmong(int me, int set) {
    int i, newest = 0, top = writeOf(me, ROSTER, topOf(me, ROSTER, set));
    if (isClaim(ROSTER, top)) return top;
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1) {
      int write = keptAt(me, ROSTER, i)->write;
      if (write != 0 && (newest == 0 || now.rosters[write].number > now.rosters[newest].number)) newest = write;
    }
    return newest;
  }

  /* Of a set, the members that the newest reported roster names. */
  static int namedAmong(int me, int set, int isAll, int havePromised) {
    struct Process *p = &now.process[me];
    int i, counting = 0, newest = newestAmong(me, set), top = acceptedOf(me, ROSTER, topOf(me, ROSTER, set));
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1) havePromised |= keptAt(me, ROSTER, i)->promised;
    if (newest == 0) return havePromised ? 0 : set;
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1) {
      struct Kept *kept = keptAt(me, ROSTER, i);
      int hasPromisedIt = kept->promised != 0 && kept->promised == top;
  #ifdef EMPTY_CONFIRMS
      counting |= 1 << i;
  #else
      if (p->shown[i] == now.rosters[newest].marker[i] && (kept->accepted != 0 || isAll || hasPromisedIt)) counting |= 1 << i;
  #endif
    }
    return counting;
  }

  /*
   * For the roster itself. If the newest proposal is a claim, all count once no older roster can be chosen. Otherwise a member that
   * has forgotten counts if all answer, and a majority remembers that it has accepted none.
   */
  static int countingInRoster(int me, int answers, int all, int havePromised) {
    int i, free = 0, counting = namedAmong(me, answers, all == 7, havePromised), newest = newestAmong(me, all);
    if (all != 7) return counting;
    for (i = 0; i < MEMBERS; i++) free += isFree(me, keptAt(me, ROSTER, i)->write, answers);
  #ifdef FORGOTTEN_FOR_GOOD
    if (now.rosters[newest].number == 0) return free == MEMBERS ? answers : counting;
  #else
    if (now.rosters[newest].number == 0) return free == MEMBERS ? 7 : counting;
  #endif
    if (bits(counting) >= MAJORITY ? !isClaim(ROSTER, newestAmong(me, counting)) : acceptedNone(me, answers) < MAJORITY) return counting;
  #ifndef FORGOTTEN_FOR_GOOD
    if (namedAmong(me, all, 1, havePromised) == 7) return 7;
  #endif
    return counting;
  }

  static int countingOf(int me, int record, int answers, int all, int havePromised) {
    return record == ROSTER ? countingInRoster(me, answers, all, havePromised) : countingInElection(me, answers);
  }

  static int mayTakeBack(int me, int record, int i, int proposed) {
    return record == ELECTION ? isIn(me, i) : now.process[me].shown[i] == now.rosters[proposed].marker[i];
  }

  static void take(int me, int roster) {
    struct Process *p = &now.process[me];
    int i;
    if (p->roster != 0 && now.rosters[roster].number <= now.rosters[p->roster].number) return;
    TELL("goes by the list of members %d", roster);
    if (now.rosters[roster].number > 1) MET("another list of members is taken over")
    p->roster = roster;
    p->mayFound = p->follows = 0;
    for (i = 0; i < MEMBERS; i++)
      if (p->shown[i] > NO_MARKER && now.rosters[roster].past >> p->shown[i] & 1) p->shown[i] = UNKNOWN;
  }

  /* A store that was in no roster before may be taken in. */
  static int isNewAt(int me, int i, int roster) {
    struct Process *p = &now.process[me];
    int other;
    if (p->shown[i] <= NO_MARKER) return 0;
    for (other = 0; other < MEMBERS; other++) if (now.rosters[roster].marker[other] == p->shown[i]) return 0;
    return !(now.rosters[roster].past >> p->shown[i] & 1);
  }

  static int lacks(int me, int i) {
    struct Process *p = &now.process[me];
    return isIn(me, i) && now.rosters[p->rosters[i]].number < now.rosters[p->roster].number;
  }

  static int isToHeal(int me) {
    struct Process *p = &now.process[me];
    int i;
    for (i = 0; i < MEMBERS; i++) if (p->roster != 0 && (p->shown[i] == NO_MARKER || isNewAt(me, i, p->roster) || lacks(me, i))) return 1;
    return 0;
  }

  /* Makes the roster that this process proposes in place of another one. Returns 0 if there is no change to make. */
  static int newRoster(int me, int top) {
    struct Process *p = &now.process[me];
    int i, changed = MEMBERS, former = 0;
    struct Roster *next;
    if (now.lastRoster >= LAST_ROSTER) return 0;
    if (isGivenUp(me, ROSTER, top)) {
      MET("another claim replaces one")
      former = top;
      top = 0;
    }
    if (isClaim(ROSTER, top)) {
      next = &now.rosters[now.lastRoster + 1];
      *next = now.rosters[top];
      next->number = 1;
      next->later = 0;
      next->base = top;
      return 1;
    }
    if (top == 0) {
      for (i = 0; i < MEMBERS; i++) if (!p->mayFound || p->shown[i] <= NO_MARKER) return 0;
    } else {
      for (i = 0; i < MEMBERS; i++) if (isNewAt(me, i, top)) changed = i;
      if (changed == MEMBERS) return 0;
    }
    next = &now.rosters[now.lastRoster + 1];
    *next = now.rosters[top];
    next->base = top == 0 ? former : top;
  #ifdef NO_CLAIM
    next->number++;
  #endif
    if (top == 0) {
      for (i = 0; i < MEMBERS; i++) {
        next->marker[i] = p->shown[i];
        if (former != 0 && now.rosters[former].marker[i] != p->shown[i]) next->later |= 1 << i;
      }
      next->later |= now.rosters[former].later;
    } else {
      next->number = now.rosters[top].number + 1;
      next->past |= 1 << next->marker[changed];
      next->marker[changed] = p->shown[changed];
      next->later |= 1 << changed;
      MET("a store is to be taken in")
    }
    return 1;
  }

  static int mayMark(int me, int i) {
    struct Process *p = &now.process[me];
    return now.lastMarker + 1 < MARKERS && now.store[storeOf(me, i)].marker == 0 && (p->shown[i] == NO_MARKER) && (p->roster != 0 || p->mayFound);
  }

  static void mark(int me, int i) {
    TELL("gives member %d the marker %d", names[i], now.lastMarker + 1);
    now.store[storeOf(me, i)].marker = now.process[me].shown[i] = ++now.lastMarker;
  }
}
