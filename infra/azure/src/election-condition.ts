import { electionBlobs } from "./blob-names.ts";

export const READ_BLOB: string = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read";
export const WRITE_BLOB: string = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write";

const PATH = "@Resource[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:path]";
/** Azure takes 8 KB. */
const MAX_CONDITION = 8_192;

/**
 * A condition of an Azure role assignment that leaves reading and writing to the blobs of these elections alone: each
 * one's lease, its note, and its occurrences. Any other action of the role is not its business. Listing is reading too,
 * but of no blob's path, and so denied.
 *
 * https://learn.microsoft.com/azure/storage/blobs/storage-auth-abac-attributes#blob-path: a path is the blob's own name,
 * not encoded once more; `StringEquals` and `StringLike` tell upper and lower case apart.
 *
 * @throws {Error} if it gets longer than Azure takes.
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
