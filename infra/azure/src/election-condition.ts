import { encodeName } from "@leasehold/core/provider";
import { Token } from "cdktn";

const BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs";
export const READ_BLOB: string = `${BLOBS}/read`;
export const WRITE_BLOB: string = `${BLOBS}/write`;
/** The prefix of every election's occurrences. No lease's blob has a slash in its name. */
export const OCCURRENCES_PREFIX: string = "ticks/";

const PATH = `@Resource[${BLOBS}:path] ForAnyOfAnyValues`;
/** Azure takes at most 8 KB. */
const MAX_CONDITION = 8_192;

/**
 * Returns the condition of an Azure role assignment that limits reading and writing to the blobs of these elections. The blobs
 * are each one's lease, its note, and its occurrences, by the names of `BlobLeaseStore`. The condition does not limit other actions
 * of the role. It denies listing, which is reading too but has no blob's path.
 *
 * https://learn.microsoft.com/azure/storage/blobs/storage-auth-abac-attributes#blob-path: a path is the blob's own name, without
 * further encoding. `StringEquals` and `StringLike` are case-sensitive. Encoded names have neither quotes nor wildcards.
 *
 * @throws {Error} if a name is not known yet, and if the condition is longer than Azure takes.
 */
export function electionCondition(elections: readonly string[]): string {
  if (elections.some((election) => Token.isUnresolved(election))) {
    throw new Error(
      "The name of an election is not known when this is synthesized, and so cannot be encoded into a role's condition. " +
        "Give grants the names as plain strings.",
    );
  }
  const names = elections.map(encodeName);
  const leases = quoted(names.flatMap((name) => [name, `${name}.note`]));
  const occurrences = quoted(names.map((name) => `${OCCURRENCES_PREFIX}${name}/*`));
  const condition =
    `((!(ActionMatches{'${READ_BLOB}'}) AND !(ActionMatches{'${WRITE_BLOB}'}))` +
    ` OR (${PATH}:StringEquals {${leases}} OR ${PATH}:StringLike {${occurrences}}))`;
  if (condition.length <= MAX_CONDITION) return condition;
  throw new Error(
    `The condition for ${elections.length} elections takes ${condition.length} characters; Azure takes ${MAX_CONDITION}. ` +
      "Give them to more than one identity, or put them into a container of their own.",
  );
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(", ");
}
