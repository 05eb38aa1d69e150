/*
 * Rounds on either record: a process reads, prepares and has a write accepted. The rules for counting answers are in
 * members-roster.pml.
 */

c_code {
  #define FORWARD(ballot) ((ballot) + PROCESSES)

  /* The store that a process uses as a member. */
  static int storeOf(int me, int i) {
  #ifdef SHARES_ONE
    return me == 1 && i > 0 ? i + 2 : i;
  #elif defined(MOVES)
    return me == 0 || i == 0 ? i : i == 2 ? 3 : now.restartsLeft == 0 ? 4 : i;
  #elif defined(REPLACED)
    return me == 1 && i == 2 ? 3 : i;
  #else
    return i;
  #endif
  }

  static struct Kept *keptAt(int me, int record, int i) { return &now.store[storeOf(me, i)].kept[record]; }

  static int isSame(struct Kept *one, struct Kept *other) { return memcmp(one, other, sizeof(struct Kept)) == 0; }

  static int bits(int set) { return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1); }

  static int isIn(int me, int i);
  static void lookAt(int me, int i);
  static int rememberingOf(int me, int record, int all);
  static int countingOf(int me, int record, int answers, int all, int havePromised);
  static int mayTakeBack(int me, int record, int i, int proposed);
  static int newRoster(int me, int top);
  static int isClaim(int record, int write);
  static int neededFor(int record, int write);
  static int isGivenUp(int me, int record, int write);
  static void take(int me, int roster);
  static int isToHeal(int me);
  static int lacks(int me, int i);

  /* The member of a set that has accepted the highest ballot; MEMBERS if none has accepted anything. */
  static int topOf(int me, int record, int set) {
    int i, top = MEMBERS;
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1 && keptAt(me, record, i)->accepted != 0)
      if (top == MEMBERS || keptAt(me, record, i)->accepted > keptAt(me, record, top)->accepted) top = i;
    return top;
  }

  static int acceptedOf(int me, int record, int i) { return i == MEMBERS ? 0 : keptAt(me, record, i)->accepted; }
  static int writeOf(int me, int record, int i) { return i == MEMBERS ? 0 : keptAt(me, record, i)->write; }

  /* Reports whether the members of a set suffice for a ballot: a proposal on a claim needs all. */
  static int isEnough(int me, int record, int set) {
    return bits(set) >= neededFor(record, writeOf(me, record, topOf(me, record, set)));
  }

  static int isChosen(int me, int record, int set) {
    int i, shown = 0, top = acceptedOf(me, record, topOf(me, record, set));
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1) shown += keptAt(me, record, i)->accepted == top;
    return shown >= neededFor(record, writeOf(me, record, topOf(me, record, set)));
  }

  /* A write whose answer was lost may arrive later. The model keeps one of these for each process. */
  static void leaveLate(int me, int record, int storeNumber, struct Kept *before, struct Kept *after) {
  #ifndef NO_LATE
    struct Process *p = &now.process[me];
    if (p->isLate) return;
    p->isLate = 1;
    p->lateRecord = record;
    p->lateStore = storeNumber;
    p->lateBefore = *before;
    p->late = *after;
  #endif
  }

  /* A process learns from a member's state what the last member has promised. */
  static void learn(int me, int record, int i, struct Kept *kept) {
  #ifdef FORGETS
    struct Process *p = &now.process[me];
    if (record == ELECTION) return;
    if (i == MEMBERS - 1 && kept->promised > p->known) p->known = kept->promised;
    if (kept->seen > p->known) p->known = kept->seen;
  #endif
  }

  static void stampOf(int me, int record, int i, int roster, struct Kept *kept) {
    kept->exists = 1;
    kept->roster = record == ROSTER ? 0 : roster;
    kept->marker = record == ROSTER ? 0 : now.rosters[roster].marker[i];
  }

  static struct Kept accepting(int me, int record, int i, int roster) {
    struct Round *round = &now.process[me].on[record];
    struct Kept kept;
    memset(&kept, 0, sizeof(kept));
    kept.promised = FORWARD(round->ballot);
    kept.accepted = round->ballot;
    kept.write = round->proposed;
    kept.seen = round->seen;
    stampOf(me, record, i, roster, &kept);
    return kept;
  }

  /* A round that has ended for its process. Its requests may still arrive. */
  static void closeRound(int me, int record) {
    struct Round *round = &now.process[me].on[record];
    int i, pending = round->pending;
    for (i = 0; i < MEMBERS; i++) if (round->to[i].state == SENT) {
      struct Kept after = accepting(me, record, i, round->roster);
      leaveLate(me, record, storeOf(me, i), &round->to[i].own, &after);
    }
    memset(round, 0, sizeof(*round));
    round->pending = pending;
  }

  /* A process reads the roster at the beginning, when others know of a newer one, and to have a store taken in. */
  static int mayBegin(int me, int record) {
    struct Process *p = &now.process[me];
  #ifdef NO_ELECTION
    if (record == ELECTION) return 0;
  #endif
    return record == ROSTER ? p->roster == 0 || p->follows || isToHeal(me) : p->roster != 0 && !p->follows;
  }

  static int mayWrite(int me, int record, int top, int chosen) {
    if (!chosen && !isGivenUp(me, record, top)) return 0;
    return record == ELECTION ? now.process[me].puts > 0 : newRoster(me, top);
  }

  /* Each process has ballots of its own. */
  static int ballotAbove(int me, int record, int set) {
    int i, ballot = now.process[me].lastBallot[record];
    for (i = 0; i < MEMBERS; i++) if (set >> i & 1 && keptAt(me, record, i)->promised > ballot) ballot = keptAt(me, record, i)->promised;
    return ballot + 1 + (ballot + 1 + me) % PROCESSES;
  }

  /* Reads the members of a set, and has those that count promise a ballot. Those in `hearing` answer the prepare. */
  static void beginRound(int me, int record, int asked, int hearing) {
    struct Process *p = &now.process[me];
    struct Round *round = &p->on[record];
    int i, chosen, top, write, ballot, counting, first, others, missing, promising, newest = 0;
    struct Kept before[MEMBERS];
  #ifdef MOVES
    /* A hears only the stores that B has no more in the end, and B hears all. Otherwise there would be too many states. */
    if (asked != (me == 0 ? 6 : 7) || hearing != asked) return;
  #endif
  #ifdef TAKEN_IN
    /* B hears the first two members, and A the last two. Otherwise there would be too many states. */
    if (asked != (me == 0 ? 6 : 3) || hearing != asked) return;
  #endif
    closeRound(me, record);
    for (i = 0; i < MEMBERS; i++) if (asked >> i & 1) {
      struct Kept *kept = keptAt(me, record, i);
      int number = kept->roster == 0 ? 0 : now.rosters[kept->roster].number;
      if (record == ROSTER || kept->accepted == 0 || !isIn(me, i)) {
        lookAt(me, i);
        if (record == ELECTION && isIn(me, i) && now.rosters[p->rosters[i]].number > number) number = now.rosters[p->rosters[i]].number;
      }
      if (number > newest) newest = number;
      learn(me, record, i, kept);
    }
  #ifndef FOLLOWS_NOBODY
    /* The process reads the roster, and then reads again. */
    if (record == ELECTION && newest > now.rosters[p->roster].number) {
      TELL("finds that there is another list of members");
      p->follows = 1;
      return;
    }
  #endif
    counting = countingOf(me, record, rememberingOf(me, record, asked), asked, 0);
    if (bits(counting) < MAJORITY) return;
    if (counting & ~rememberingOf(me, record, asked) && acceptedOf(me, record, topOf(me, record, asked))) MET("a member that has forgotten counts")
    top = topOf(me, record, counting);
    write = writeOf(me, record, top);
    chosen = isChosen(me, record, counting);
    if (chosen && write != 0 && !isClaim(record, write)) {
      now.told[record] |= 1 << write;
      if (record == ROSTER) take(me, write);
    }
    if (record == ROSTER && (chosen && write == 0 || isGivenUp(me, record, write))) p->mayFound = 1;
    if (chosen && !mayWrite(me, record, write, chosen)) {
      int toShow = 0;
      for (i = 0; i < MEMBERS; i++) if (record == ROSTER && asked >> i & 1 && lacks(me, i)) toShow = 1;
      if (!toShow) return;
    }
    ballot = ballotAbove(me, record, counting);
    if (ballot > (record == ROSTER ? LAST_ROSTER_BALLOT : LAST_BALLOT)) return;
    TELL("has members %d promise ballot %d of the %s", counting & hearing, ballot, record == ROSTER ? "roster" : "election");
    p->lastBallot[record] = ballot;
    round->ballot = ballot;
    round->roster = p->roster;
    /*
     * A promising member counts by the state that it had before. Members that have forgotten promise after all others have, and
     * only if the round needs all members.
     */
    first = counting & rememberingOf(me, record, counting);
    others = 0;
    for (i = 0; i < MEMBERS; i++)
      if (asked & ~first & 1 << i && (write == 0 || isGivenUp(me, record, write) || mayTakeBack(me, record, i, write))) others |= 1 << i;
    missing = (first | others) & ~(first & hearing);
    promising = countingOf(me, record, counting & ~missing, asked & ~missing, 1) & first;
    if (isEnough(me, record, promising) || first & ~hearing || !isEnough(me, record, countingOf(me, record, counting, asked, 1))) others = 0;
    else {
      missing = others & ~hearing;
      promising = countingOf(me, record, counting & ~missing, asked & ~missing, 1) & (first | others);
    }
    for (i = 0; i < MEMBERS; i++) if ((first | others) & 1 << i) {
      struct Kept after = *keptAt(me, record, i);
      before[i] = after;
      after.promised = ballot;
      after.seen = p->known;
      stampOf(me, record, i, p->roster, &after);
      if (hearing >> i & 1) *keptAt(me, record, i) = after;
      else leaveLate(me, record, storeOf(me, i), &before[i], &after);
    }
    for (i = 0; i < MEMBERS; i++) if ((first | others) & hearing & 1 << i) learn(me, record, i, keptAt(me, record, i));
    round->seen = p->known;
    counting = promising;
    if (!isEnough(me, record, counting)) { TELL("has no majority"); closeRound(me, record); return; }
    top = topOf(me, record, counting);
    write = writeOf(me, record, top);
    if (round->pending != 0 && baseOf(record, round->pending) == write) round->proposed = round->pending;
    else if (mayWrite(me, record, write, chosen)) {
      if (record == ELECTION) {
        p->puts--;
        round->proposed = round->pending = ++now.lastWrite;
        now.base[round->proposed] = write;
      } else round->proposed = round->pending = ++now.lastRoster;
    }
    else round->proposed = isGivenUp(me, record, write) ? 0 : write;
    if (round->proposed == 0 || bits(counting) < neededFor(record, round->proposed)) { closeRound(me, record); return; }
    TELL("proposes %s %d in place of %d", record == ROSTER ? "roster" : "write", round->proposed, write);
    round->isOpen = 1;
    for (i = 0; i < MEMBERS; i++) if (counting >> i & 1) {
      round->to[i].state = SENT;
      round->to[i].own = *keptAt(me, record, i);
    }
  }

  static int takenBy(int me, int record) {
    int i, taken = 0;
    for (i = 0; i < MEMBERS; i++) taken += now.process[me].on[record].to[i].state == TAKEN;
    return taken;
  }

  /* A majority has accepted the write, so the caller is told. */
  static void confirm(int me, int record) {
    struct Round *round = &now.process[me].on[record];
    if (round->isConfirmed || takenBy(me, record) < neededFor(record, round->proposed)) return;
    TELL("has a majority for %s %d", record == ROSTER ? "roster" : "write", round->proposed);
    round->isConfirmed = 1;
    if (record == ROSTER && now.rosters[round->proposed].number == 1) MET("a claim becomes the first list")
    if (!isClaim(record, round->proposed)) now.told[record] |= 1 << round->proposed;
    round->leads = record == ELECTION && round->proposed == round->pending;
    round->pending = 0;
    if (record == ROSTER && !isClaim(record, round->proposed)) take(me, round->proposed);
  }

  static int isSent(int me, int record, int i) {
    struct Round *round = &now.process[me].on[record];
    return round->isOpen && round->to[i].state == SENT;
  }

  static void put(int me, int record, int i, struct Kept *present, int roster) {
    struct Round *round = &now.process[me].on[record];
    struct Kept after = accepting(me, record, i, roster);
    *keptAt(me, record, i) = after;
    learn(me, record, i, &after);
    round->to[i].state = TAKEN;
    round->to[i].own = after;
    confirm(me, record);
  }

  static void arrive(int me, int record, int i, int isHeard) {
    struct Round *round = &now.process[me].on[record];
    if (isSame(keptAt(me, record, i), &round->to[i].own)) {
      TELL("has %s %d accepted by member %d", record == ROSTER ? "roster" : "write", round->proposed, names[i]);
      if (!isHeard) {
        TELL("does not hear of that");
        *keptAt(me, record, i) = accepting(me, record, i, round->roster);
        round->to[i].state = UNHEARD;
        return;
      }
      put(me, record, i, keptAt(me, record, i), round->roster);
      return;
    }
    TELL("is refused by member %d", names[i]);
    round->to[i].state = REFUSED;
    round->leads = 0;
    /* A refusal before the confirmation voids the round. The round's requests under way may still arrive. */
    if (!round->isConfirmed) { round->to[i].own = *keptAt(me, record, i); closeRound(me, record); }
  }

  /* A member that did not promise this ballot is read, and is given what the others have accepted. */
  static int isToCatchUp(int me, int record, int i) {
    struct Round *round = &now.process[me].on[record];
    return round->isOpen && round->to[i].state == NOT_SENT;
  }
  static int mayCatchUp(int me, int record, int i) { return isToCatchUp(me, record, i); }
  #ifdef NO_LATE
  static int mayCatchUpLate(int me, int record, int i) { return 0; }
  #else
  static int mayCatchUpLate(int me, int record, int i) {
    return isToCatchUp(me, record, i) && !keptAt(me, record, i)->exists && !now.process[me].isLate;
  }
  #endif

  static void catchUp(int me, int record, int i, int arrives) {
    struct Process *p = &now.process[me];
    struct Round *round = &p->on[record];
    struct Kept *present = keptAt(me, record, i);
    int number = present->roster == 0 ? 0 : now.rosters[present->roster].number;
    int counts;
    /* The roster that the round began with, although the process may have adopted another one meanwhile. */
  #ifdef CATCHES_UP_BY_NEWER_LIST
    int roster = p->roster;
  #else
    int roster = round->roster;
  #endif
    if (record == ROSTER || present->accepted == 0 || !isIn(me, i)) {
      lookAt(me, i);
      if (record == ELECTION && isIn(me, i) && now.rosters[p->rosters[i]].number > number) number = now.rosters[p->rosters[i]].number;
    }
    round->to[i].state = REFUSED; /* unless it is taken below: it is asked once a round */
    if (record == ELECTION && number > now.rosters[p->roster].number && round->isConfirmed) round->leads = 0;
    if (!mayTakeBack(me, record, i, round->proposed)) return;
    learn(me, record, i, present);
    counts = countingOf(me, record, rememberingOf(me, record, 1 << i), 1 << i, 0) != 0;
    if (!counts && !round->isConfirmed) return;
    if (present->promised > round->ballot) { round->leads = 0; return; }
  #ifndef CREATES_BY_ACCEPT
    /* No accept makes a record. A promise makes it, and the member is read again. */
    if (!present->exists) {
      struct Kept promise = *present;
      promise.promised = round->ballot;
      promise.seen = round->seen;
      stampOf(me, record, i, roster, &promise);
      round->to[i].state = NOT_SENT;
      TELL("has member %d, which has no record, promise ballot %d", names[i], round->ballot);
      if (arrives) *present = promise;
      else leaveLate(me, record, storeOf(me, i), present, &promise);
      return;
    }
  #endif
    TELL("catches member %d up with %s %d", names[i], record == ROSTER ? "roster" : "write", round->proposed);
    MET("a member is caught up")
    if (!counts) MET("a store is taken back")
    if (arrives) { put(me, record, i, present, roster); return; }
    struct Kept after = accepting(me, record, i, roster);
    leaveLate(me, record, storeOf(me, i), present, &after);
  }

  static int mayArriveLate(int me) { return now.process[me].isLate; }

  static void forgetLate(struct Process *p) {
    p->isLate = p->lateRecord = p->lateStore = 0;
    memset(&p->lateBefore, 0, sizeof(p->lateBefore));
    memset(&p->late, 0, sizeof(p->late));
  }

  static int wouldBeTakenLate(struct Process *p) { return isSame(&now.store[p->lateStore].kept[p->lateRecord], &p->lateBefore); }

  static void arriveLate(int me) {
    struct Process *p = &now.process[me];
    if (wouldBeTakenLate(p)) {
      TELL("has a late write arrive at store %d", p->lateStore + 1);
      MET("a write arrives late")
      now.store[p->lateStore].kept[p->lateRecord] = p->late;
    }
    forgetLate(p);
  }

  /* A put without a prepare, on what the last round has written itself. */
  static int mayGoOn(int me) {
    struct Process *p = &now.process[me];
    return p->on[ELECTION].leads && p->on[ELECTION].isConfirmed && p->puts > 0 && FORWARD(p->on[ELECTION].ballot) <= LAST_BALLOT + 2 && now.lastWrite + 1 < WRITES;
  }

  static void goOn(int me) {
    struct Process *p = &now.process[me];
    struct Round *round = &p->on[ELECTION];
    struct Round before = *round;
    int i, counting = 0;
    for (i = 0; i < MEMBERS; i++) if (before.to[i].state == TAKEN && isIn(me, i) && before.to[i].own.marker == now.rosters[p->roster].marker[i]) counting |= 1 << i;
    if (bits(counting) < MAJORITY) return;
    closeRound(me, ELECTION);
    MET("a put without a prepare")
    p->puts--;
    round->isOpen = 1;
    round->ballot = p->lastBallot[ELECTION] = FORWARD(before.ballot);
    round->roster = p->roster;
    round->proposed = round->pending = ++now.lastWrite;
    now.base[round->proposed] = before.proposed;
    TELL("proposes write %d in place of %d without a prepare", round->proposed, before.proposed);
    for (i = 0; i < MEMBERS; i++) if (counting >> i & 1) {
      round->to[i].state = SENT;
      round->to[i].own = before.to[i].own;
    }
  }
}
