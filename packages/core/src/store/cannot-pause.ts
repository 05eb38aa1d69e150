import { UnsupportedError } from "../reporting/errors.ts";
import { checkName } from "./names.ts";

/** @throws {UnsupportedError} always: for a store without `capabilities.pause`. */
export function cannotPause(store: string, election: string): never {
  checkName("election", election);
  throw new UnsupportedError(`${store} keeps no pause of an election. Stop its candidates instead, and start them to resume.`, {
    election,
  });
}
