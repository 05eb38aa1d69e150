/** The blob that leaders of these tests guard with their term. */
export const GUARDED_BLOB = "guarded";
