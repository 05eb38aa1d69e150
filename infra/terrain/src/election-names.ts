import { Token } from "cdktn";

/** The longest name of an election, in bytes of UTF-8, as in @leasehold/core. */
export const MAX_NAME_BYTES: number = 255;

/**
 * Checks the elections that a grant names. Leaves names that are not known at synthesis to the candidates.
 * @throws {Error} without an election, or for an invalid one.
 */
export function checkElections(grant: string, elections: readonly string[]): void {
  if (elections.length === 0) {
    throw new Error(
      `${grant} names no election, and so would grant nothing, or everything. Name the elections: ${grant}(grantee, "nightly-billing").`,
    );
  }
  for (const election of elections) {
    if (!Token.isUnresolved(election)) checkElection(grant, election);
  }
}

function checkElection(grant: string, election: string): void {
  const bytes = new TextEncoder().encode(election).length;
  const fault =
    (bytes === 0 && "is empty") ||
    (bytes > MAX_NAME_BYTES && `has ${bytes} bytes of UTF-8; at most ${MAX_NAME_BYTES} fit`) ||
    (!election.isWellFormed() && "has a lone surrogate, which no store can hold") ||
    (/\p{Cc}/u.test(election) && "has a control character; use printable characters only");
  if (fault) throw new Error(`${grant} was given the election ${JSON.stringify(election)}, which ${fault}.`);
}
