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

  static void claim(void) {
    const char *what = 0;
    if (!isOneLine(ELECTION)) what = "two writes replace the same one";
    if (!isOneLine(ROSTER)) what = "two lists of members replace the same one";
    if (what) printf("\nVIOLATED %s\n", what);
    now.isWrong = what != 0;
  }
}
