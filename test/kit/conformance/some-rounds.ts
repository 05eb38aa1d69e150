/** The rounds of the cases of a thousand if each operation goes to a service or a file; memory runs all of them. */
export const SOME_ROUNDS = 250;
