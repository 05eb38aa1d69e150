/* The faults of stores and processes, the beginning of a run, and the state that is dropped. */

c_code {
  /* By symmetry, the last member's store is always the one that is emptied. */
  static void wipe(void) {
    int me = 12; /* M, in the account of a run */
    TELL("member 3 is emptied");
    MET("a store is emptied")
    now.wipesLeft--;
    memset(&now.store[2], 0, sizeof(struct Store));
  }

  #ifdef MARKS_NOTHING
  static void markAgain(void) {
    int me = 12; /* M, in the account of a run */
    TELL("member 3 is given the marker %d once more, by a duplicate", now.firstMarker);
    now.store[2].marker = now.firstMarker;
    now.firstMarker = 0;
  }
  #endif

  #ifdef FORGETS
  static void backUp(void) {
    int me = 12; /* M, in the account of a run */
    TELL("member 3 is backed up");
    now.backup = now.store[2].kept[ROSTER];
    now.isBackedUp = 1;
  }

  static int mayForget(void) {
    return now.isBackedUp && !now.hasForgotten && now.backup.promised < now.store[2].kept[ROSTER].promised;
  }

  static void forget(void) {
    int me = 12; /* M, in the account of a run */
    TELL("member 3 forgets: promised %d, roster %d", now.backup.promised, now.backup.write);
    MET("a member forgets")
    now.store[2].kept[ROSTER] = now.backup;
    memset(&now.backup, 0, sizeof(now.backup));
    now.hasForgotten = 1;
  }
  #endif

  #ifdef MOVES
  static int mayRestart(int me) { return now.restartsLeft > 0 && me == 1; }
  #else
  static int mayRestart(int me) { return now.restartsLeft > 0 && me == 0; }
  #endif

  static void restart(int me) {
    struct Process *p = &now.process[me];
    TELL("is started again, and knows nothing");
    now.restartsLeft--;
    closeRound(me, ROSTER);
    closeRound(me, ELECTION);
    p->on[ROSTER].pending = p->on[ELECTION].pending = 0;
    p->roster = 0;
    p->mayFound = p->follows = p->known = 0;
    memset(p->shown, 0, sizeof(p->shown));
    memset(p->rosters, 0, sizeof(p->rosters));
  }

  /* State that is never read again is dropped, so that there are fewer states. */
  static void letGo(void) {
    int me, record, i;
    for (me = 0; me < PROCESSES; me++) {
      struct Process *p = &now.process[me];
      for (record = 0; record < RECORDS; record++) {
        struct Round *round = &p->on[record];
        for (i = 0; i < MEMBERS; i++) {
          struct Link *to = &round->to[i];
          if (to->state != SENT && (to->state != TAKEN || record == ROSTER)) memset(&to->own, 0, sizeof(to->own));
        }
      }
      /*
       * A late write is dropped once its record was written since. That newer write does not go away, unless the store is
       * emptied.
       */
      if (p->isLate && p->lateBefore.exists && !wouldBeTakenLate(p)) forgetLate(p);
    }
  }

  #if !defined(FOUNDING) && !defined(TAKEN_IN)
  #define SWAP(type, one, other) { type kept = one; one = other; other = kept; }

  /* The first two members are alike. Of two states that differ in which is which, one is enough. */
  static void sortMembers(void) {
    int me, record, i, difference = memcmp(now.store[0].kept, now.store[1].kept, sizeof(now.store[0].kept));
    const int first = NO_MARKER + 1, second = NO_MARKER + 2;
    for (record = 0; record < RECORDS; record++) {
      /* The roster of a write determines its marker, so markers are not compared. */
      struct Kept one = now.store[0].kept[record], other = now.store[1].kept[record];
      one.marker = other.marker = 0;
      if (record == 0) difference = 0;
      if (difference == 0) difference = memcmp(&one, &other, sizeof(one));
    }
    for (me = 0; me < PROCESSES && difference == 0; me++) {
      struct Process *p = &now.process[me];
      difference = (p->shown[0] == UNKNOWN) - (p->shown[1] == UNKNOWN);
      if (difference == 0) difference = p->rosters[0] - p->rosters[1];
      if (difference == 0 && p->isLate) difference = (p->lateStore == 0) - (p->lateStore == 1);
      for (record = 0; record < RECORDS && difference == 0; record++) {
        struct Link one = p->on[record].to[0], other = p->on[record].to[1];
        one.own.marker = other.own.marker = 0;
        difference = memcmp(&one, &other, sizeof(one));
      }
    }
    if (difference >= 0) return;
    SWAP(struct Store, now.store[0], now.store[1])
    for (me = 0; me < PROCESSES; me++) {
      struct Process *p = &now.process[me];
      SWAP(int, p->shown[0], p->shown[1])
      SWAP(int, p->rosters[0], p->rosters[1])
      for (record = 0; record < RECORDS; record++) SWAP(struct Link, p->on[record].to[0], p->on[record].to[1])
      if (p->isLate && p->lateStore < 2) p->lateStore = 1 - p->lateStore;
    }
    SWAP(int, names[0], names[1])
    for (i = 0; i < 2; i++) {
      #define RENAME(marker_) if (marker_ == first + 1 - i) marker_ = first + i;
      RENAME(now.store[i].marker)
      for (record = 0; record < RECORDS; record++) RENAME(now.store[i].kept[record].marker)
      for (me = 0; me < PROCESSES; me++) {
        struct Process *p = &now.process[me];
        RENAME(p->shown[i])
        for (record = 0; record < RECORDS; record++) RENAME(p->on[record].to[i].own.marker)
        if (p->isLate && p->lateStore == i) { RENAME(p->lateBefore.marker) RENAME(p->late.marker) }
      }
    }
  }
  #else
  static void sortMembers(void) {}
  #endif

  static void afterwards(void) {
    int me, roster;
    letGo();
    /* A roster that was made but not proposed does not count. */
    for (roster = now.lastRoster + 1; roster < ROSTERS; roster++) memset(&now.rosters[roster], 0, sizeof(struct Roster));
    claim();
    sortMembers();
    for (me = 0; me < PROCESSES; me++) {
      int nth, can = mayBegin(me, ROSTER) | mayBegin(me, ELECTION) << 1;
      for (nth = 0; nth < RECORDS * MEMBERS; nth++)
        can |= isSent(me, nth / MEMBERS, nth % MEMBERS) << 2 + nth | mayCatchUp(me, nth / MEMBERS, nth % MEMBERS) << 8 + nth |
          mayCatchUpLate(me, nth / MEMBERS, nth % MEMBERS) << 14 + nth;
      can |= mayGoOn(me) << 20 | mayArriveLate(me) << 21;
      for (nth = 0; nth < MEMBERS; nth++) can |= mayMark(me, nth) << 22 + nth;
      now.can[me] = can | mayRestart(me) << 25;
    }
    now.canBefall = now.wipesLeft > 0;
  #ifdef MARKS_NOTHING
    now.canBefall |= (now.firstMarker != 0 && now.store[2].marker == 0) << 1;
  #endif
  #ifdef FORGETS
    now.canBefall |= !now.isBackedUp << 2 | mayForget() << 3;
  #endif
  }

  /*
   * The state of a store after ballot 2. An initialiser would leave the padding as it was on the stack, and memcmp compares it.
   */
  static struct Kept firstKept(int roster, int marker) {
    struct Kept kept;
    memset(&kept, 0, sizeof(kept));
    kept.exists = 1;
    kept.promised = FORWARD(2);
    kept.accepted = 2;
    kept.write = 1;
    kept.roster = roster;
    kept.marker = marker;
    return kept;
  }

  static void begin(void) {
    int me, i;
    now.wipesLeft = WIPES;
  #ifdef RESTARTS
    now.restartsLeft = RESTARTS;
  #endif
    now.process[0].puts = PUTS_A;
    now.process[1].puts = PUTS_B;
    now.lastMarker = NO_MARKER;
  #ifdef FOUNDING
    /* Each store has its marker before any process claims the quorum. */
    for (i = 0; i < STORES; i++) now.store[i].marker = ++now.lastMarker;
  #ifdef MOVES
    /* A's claim is chosen. Of the first list that follows it, one accept has arrived. A knows nothing of this any more. */
    now.lastRoster = 2;
    now.rosters[2].number = 1;
    now.rosters[2].base = 1;
    for (i = 0; i < MEMBERS; i++) {
      struct Kept claim = firstKept(0, 0);
      now.rosters[1].marker[i] = now.rosters[2].marker[i] = now.store[i].marker;
      if (i == MEMBERS - 1) {
        claim.promised = FORWARD(4);
        claim.accepted = 4;
        claim.write = 2;
      } else claim.promised = 4;
      now.store[i].kept[ROSTER] = claim;
    }
  #endif
  #else
    now.rosters[1].number = 1;
    now.lastRoster = 1;
    now.told[ROSTER] = 2;
    for (i = 0; i < MEMBERS; i++) {
      struct Kept roster = firstKept(0, 0);
      now.store[i].marker = now.rosters[1].marker[i] = ++now.lastMarker;
      now.store[i].kept[ROSTER] = roster;
  #ifndef NEW_ELECTION
      struct Kept kept = firstKept(1, now.store[i].marker);
      now.store[i].kept[ELECTION] = kept;
      now.lastWrite = 1;
      now.told[ELECTION] = 2;
      now.process[0].on[ELECTION].to[i].state = TAKEN;
      now.process[0].on[ELECTION].to[i].own = kept;
  #endif
      for (me = 0; me < PROCESSES; me++) {
  #ifdef REPLACED
        /* B is started with the new store. */
        if (me == 1) continue;
  #endif
        now.process[me].roster = 1;
        now.process[me].shown[i] = now.store[i].marker;
        now.process[me].rosters[i] = 1;
      }
    }
  #ifdef TAKEN_IN
    /* A third process has taken the new store in. B still goes by the former list, and reads the new one at any time. */
    now.process[1] = now.process[0];
    now.process[1].puts = PUTS_B;
    now.process[1].shown[2] = now.store[3].marker = ++now.lastMarker;
    memset(now.process[1].on, 0, sizeof(now.process[1].on));
    now.lastRoster = 2;
    now.told[ROSTER] |= 1 << 2;
    now.rosters[2] = now.rosters[1];
    now.rosters[2].number = 2;
    now.rosters[2].base = 1;
    now.rosters[2].later = 1 << 2;
    now.rosters[2].past = 1 << now.store[2].marker;
    now.rosters[2].marker[2] = now.store[3].marker;
    for (i = 0; i < STORES; i++) if (i != 2) {
      struct Kept roster = firstKept(0, 0);
      roster.write = 2;
      now.store[i].kept[ROSTER] = roster;
    }
  #endif
  #endif
  #if !defined(FOUNDING) && !defined(NEW_ELECTION)
    /* A leads. */
    struct Round *round = &now.process[0].on[ELECTION];
    round->isOpen = round->isConfirmed = round->leads = 1;
    round->ballot = 2;
    round->proposed = round->roster = 1;
  #endif
  #ifdef MARKS_NOTHING
    now.firstMarker = now.rosters[1].marker[2];
  #endif
    afterwards();
  }
}
