/*
 * The claim, which must hold in every run. Of two writes, or two rosters, that a process was told to be chosen, one has replaced
 * the other.
 */

c_code {
  #define TELL if (readtrail) printf("\nSTEP %c ", 'A' + me), printf
  #define MET(what) { static int met; if (!met) { met = 1; printf("\nSHOWN %s\n", what); } }

  extern int readtrail;
  /* The names of the members in the account of a run: see sortMembers. */
  static int names[MEMBERS] = { 1, 2, 3 };

  static int baseOf(int record, int write) { return record == ROSTER ? now.rosters[write].base : now.base[write]; }

  /* Reports whether `older` is `newer`, or was replaced by it, directly or not. */
  static int isBelow(int record, int older, int newer) {
    while (newer != 0 && newer != older) newer = baseOf(record, newer);
    return newer == older;
  }

  static int isOneLine(int record) {
    int one, other;
    for (one = 1; one < WRITES; one++) for (other = one + 1; other < WRITES; other++)
      if (now.told[record] >> one & now.told[record] >> other & 1 && !isBelow(record, one, other) && !isBelow(record, other, one)) return 0;
    return 1;
  }

  #ifdef ALL_GO_ON
  static void lookAt(int me, int i);
  static void learn(int me, int record, int i, struct Kept *kept);
  static struct Kept *keptAt(int me, int record, int i);
  static int rememberingOf(int me, int record, int all);
  static int countingOf(int me, int record, int answers, int all, int havePromised);
  static int isEnough(int me, int record, int set);
  static int bits(int set);

  /* A process that all members answer finds enough that count. */
  static int mayGoOnWithAll(int me) {
    struct Process before = now.process[me];
    int i, counting, isSo;
    for (i = 0; i < MEMBERS; i++) {
      lookAt(me, i);
      learn(me, ROSTER, i, keptAt(me, ROSTER, i));
    }
    counting = countingOf(me, ROSTER, rememberingOf(me, ROSTER, 7), 7, 0);
    isSo = bits(counting) >= MAJORITY && isEnough(me, ROSTER, counting);
    now.process[me] = before;
    return isSo;
  }
  #endif

  static void claim(void) {
    const char *what = 0;
    if (!isOneLine(ELECTION)) what = "two writes replace the same one";
    if (!isOneLine(ROSTER)) what = "two lists of members replace the same one";
  #ifdef ALL_GO_ON
    if (!mayGoOnWithAll(0) || !mayGoOnWithAll(1)) what = "all members answer, and too few count";
  #endif
    if (what) printf("\nVIOLATED %s\n", what);
    now.isWrong = what != 0;
  }
}
