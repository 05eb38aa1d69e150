import { ConfigurationError } from "@leasehold/core";
import { checkName } from "@leasehold/core/provider";
import { Token } from "aws-cdk-lib/core";

/**
 * The actions of a candidate on the items of its elections. A leader's fence is a ConditionCheckItem. A candidate never deletes
 * or scans.
 */
export const CANDIDATE_ACTIONS: readonly string[] = ["dynamodb:GetItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem"];
/**
 * The actions that list all elections. A scan reads the whole table, so it cannot be limited to elections. A list reads an election
 * again if the scan shows an old item.
 */
export const OPERATOR_ACTIONS: readonly string[] = ["dynamodb:Scan", "dynamodb:GetItem"];
/** The actions of an observer on these items. */
export const OBSERVER_ACTIONS: readonly string[] = ["dynamodb:GetItem"];
/**
 * The actions of an administrator on these items: break, transfer, list an election's occurrences, and remove the rest of an
 * election.
 */
export const ADMINISTRATOR_ACTIONS: readonly string[] = [...CANDIDATE_ACTIONS, "dynamodb:Query", "dynamodb:DeleteItem"];
/** The action by which a store reads what kind of table it has. It refers to no item, so it cannot be limited to elections. */
export const TABLE_ACTIONS: readonly string[] = ["dynamodb:DescribeTable"];

/** The actions that reading and writing need on the key that encrypts the table, if it is a customer's own key. */
export const KEY_READ_ACTIONS: readonly string[] = ["kms:Decrypt", "kms:DescribeKey"];
export const KEY_WRITE_ACTIONS: readonly string[] = [
  ...KEY_READ_ACTIONS,
  "kms:Encrypt",
  "kms:GenerateDataKey*",
  "kms:ReEncrypt*",
];

/**
 * Returns the conditions that limit actions to the items of these elections. An election's lease and its occurrences have the same
 * partition key, the election's name, so one statement covers both.
 *
 * @param grant the name of the grant in an error.
 * @throws {ConfigurationError} as `checkElections` does.
 */
export function electionConditions(
  grant: string,
  elections: readonly string[],
): Record<string, Readonly<Record<string, string | string[]>>> {
  checkElections(grant, elections);
  return {
    // Use StringEquals, not StringLike, because an asterisk in an election's name is an asterisk.
    "ForAllValues:StringEquals": { "dynamodb:LeadingKeys": elections.map((election) => literal(election)) },
    // ForAllValues is true for a request without keys (a Scan), so refuse such a request separately.
    Null: { "dynamodb:LeadingKeys": "false" },
  };
}

/** @throws {ConfigurationError} without an election, because the grant would be for all of them, and for an invalid name. */
export function checkElections(grant: string, elections: readonly string[]): void {
  if (elections.length === 0) {
    throw new ConfigurationError(
      `${grant} needs the name of one election at least: without one, the grant would be for every election here. Name those that the grantee takes part in: ${grant}(grantee, "nightly-billing").`,
    );
  }
  for (const election of elections) checkName("election", election);
}

/**
 * Returns a name in the spelling of a policy, so that IAM does not read it as a policy variable.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html#policy-vars-specialchars
 */
function literal(election: string): string {
  return Token.isUnresolved(election) ? election : election.replaceAll("${", "${$}{");
}
