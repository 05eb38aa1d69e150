import { Token } from "cdktn";

/** The blobs of an election, by the names that `BlobLeaseStore` of @leasehold/azure-blob gives them. */
export interface ElectionBlobs {
  /** The blob that is leased, and the blob with an administrator's note. */
  readonly lease: readonly string[];
  /** The prefix of its occurrences' names. */
  readonly occurrences: string;
}

/** The prefix of every election's occurrences. No lease's blob has a slash in its name. */
export const OCCURRENCES_PREFIX: string = "ticks/";

/** @throws {Error} if the name is not known yet, because a condition needs the encoded name at synthesis. */
export function electionBlobs(election: string): ElectionBlobs {
  if (Token.isUnresolved(election)) {
    throw new Error(
      "The name of an election is not known when this is synthesized, and so cannot be encoded into a role's condition. " +
        "Give grants the names as plain strings.",
    );
  }
  const name = encodeName(election);
  return { lease: [name, `${name}.note`], occurrences: `${OCCURRENCES_PREFIX}${name}/` };
}

/**
 * Encodes all but letters, digits, `-`, `_` and `%`, so that neither a condition's text nor its wildcards can misread the name.
 */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/[.!~*'()]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
