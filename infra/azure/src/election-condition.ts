import { electionBlobs } from "./blob-names.ts";

export const READ_BLOB: string = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read";
export const WRITE_BLOB: string = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write";

const PATH = "@Resource[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:path]";
/** Azure takes at most 8 KB. */
const MAX_CONDITION = 8_192;

/**
 * Returns the condition of an Azure role assignment that limits reading and writing to the blobs of these elections. The blobs
 * are each one's lease, its note, and its occurrences. The condition does not limit other actions of the role. It denies listing,
 * which is reading too but has no blob's path.
 *
 * https://learn.microsoft.com/azure/storage/blobs/storage-auth-abac-attributes#blob-path: a path is the blob's own name, without
 * further encoding. `StringEquals` and `StringLike` are case-sensitive.
 *
 * @throws {Error} if the condition is longer than Azure takes.
 */
export function electionCondition(elections: readonly string[]): string {
  const blobs = elections.map(electionBlobs);
  const leases = blobs.flatMap(({ lease }) => lease);
  const occurrences = blobs.map(({ occurrences: prefix }) => `${prefix}*`);
  const condition = `(
 (
  !(ActionMatches{'${READ_BLOB}'})
  AND
  !(ActionMatches{'${WRITE_BLOB}'})
 )
 OR
 (
  ${PATH} ForAnyOfAnyValues:StringEquals {${quoted(leases)}}
  OR
  ${PATH} ForAnyOfAnyValues:StringLike {${quoted(occurrences)}}
 )
)`;
  if (condition.length <= MAX_CONDITION) return condition;
  throw new Error(
    `The condition for ${elections.length} elections takes ${condition.length} characters; Azure takes ${MAX_CONDITION}. ` +
      "Give them to more than one identity, or put them into a container of their own.",
  );
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(", ");
}
