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

  static int acceptedNone(int me, int set) {
    int i, none = 0;
    for (i = 0; i < MEMBERS; i++) none += set >> i & 1 && keptAt(me, ROSTER, i)->accepted == 0;
    return none;
  }

  /* Of a set, the members that the newest reported roster names. */
  static int namedAmong(int me, int set, int isAll, int havePromised) {
    struct Process *p = &now.process[me];
    int i, counting = 0, newest = 0, top = acceptedOf(me, ROSTER, topOf(me, ROSTER, set));
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1) {
      struct Kept *kept = keptAt(me, ROSTER, i);
      havePromised |= kept->promised;
      if (kept->write != 0 && (newest == 0 || now.rosters[kept->write].number > now.rosters[newest].number)) newest = kept->write;
    }
    if (newest == 0) return havePromised ? 0 : set;
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1) {
      struct Kept *kept = keptAt(me, ROSTER, i);
      int hasPromisedIt = kept->promised != 0 && (kept->promised == top || kept->promised == thisBallot);
  #ifdef EMPTY_CONFIRMS
      counting |= 1 << i;
  #else
      if (p->shown[i] == now.rosters[newest].marker[i] && (kept->accepted != 0 || isAll || hasPromisedIt)) counting |= 1 << i;
  #endif
    }
    return counting;
  }

  /* For the roster itself. A member that has forgotten counts if all answer, and a majority remembers that it has accepted none. */
  static int countingInRoster(int me, int answers, int all, int havePromised) {
    int counting;
  #ifdef FOUNDED_BY_MAJORITY
    if (acceptedNone(me, all) == bits(all)) return all;
  #endif
    if (all == 7 && acceptedNone(me, all) == MEMBERS) return all;
    counting = namedAmong(me, answers, all == 7, havePromised);
    if (bits(counting) >= MAJORITY || all != 7 || acceptedNone(me, answers) < MAJORITY) return counting;
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
    int i, changed = MEMBERS;
    struct Roster *next;
    if (now.lastRoster >= LAST_ROSTER) return 0;
    if (top == 0) {
      for (i = 0; i < MEMBERS; i++) if (!p->mayFound || p->shown[i] <= NO_MARKER) return 0;
    } else {
      for (i = 0; i < MEMBERS; i++) if (isNewAt(me, i, top)) changed = i;
      if (changed == MEMBERS) return 0;
    }
    next = &now.rosters[now.lastRoster + 1];
    *next = now.rosters[top];
    next->number++;
    next->base = top;
    if (top == 0) for (i = 0; i < MEMBERS; i++) next->marker[i] = p->shown[i];
    else {
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
