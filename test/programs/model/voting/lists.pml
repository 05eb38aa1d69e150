/*
 * Lists of servers: three, then A and B, then A alone. One server after the other is started with the next list, whenever it may
 * be. Servers with different lists do not hear one another.
 */

#ifdef LISTS
#define LIST(who) voter[who].list
#ifdef LISTS_BY_TWO
#define STEP 2
#else
#define STEP 1
#endif
/* The server does not know yet what the others of its list know. */
#ifdef LISTS_WITHOUT_TELLING
#define KNOWS_LITTLE false
#else
#define KNOWS_LITTLE V.moved
#endif
#ifdef LISTS_WITHOUT_MEETING
#define HAS_MET true
#else
#define HAS_MET (!V.moved)
#endif
#define MAY_MOVE (me < CANDIDATES && V.list + STEP + me <= 2 && HAS_MET)

inline move() {
  TELL("starts with the next list");
  V.list = V.list + STEP; V.moved = (V.list == 1);
  if
  :: V.list == 2 -> SHOWN("a list of one server")
  :: else
  fi
}

/* A majority of the list is both of its servers. */
#define MAY_JOIN(who) (V.moved && who != me && voter[who].list == V.list)

inline join(who) {
  TELL("is told the term of %c, which has the same list", 'A' + who);
  V.moved = false;
#ifndef LISTS_WITHOUT_TELLING
  if
  :: voter[who].term > V.term ->
     SHOWN("a term that only others of the list before knew");
     V.term = voter[who].term; V.heard = NONE; V.age = 0; V.fileTerm = V.term; V.fileLease = true
  :: else
  fi
#endif
}
#else
#define LIST(who) 0
#define KNOWS_LITTLE false
#endif
