import { ConfigurationError } from "@leasehold/core";
import { checkName } from "@leasehold/core/provider";
import { Token } from "aws-cdk-lib/core";
import { Effect, PolicyStatement } from "aws-cdk-lib/aws-iam";

/** The actions of a candidate on the items of its elections; a leader's fence is a ConditionCheckItem. It never deletes, and never scans. */
export const CANDIDATE_ACTIONS: readonly string[] = ["dynamodb:GetItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem"];
/** The actions of an observer on them. */
export const OBSERVER_ACTIONS: readonly string[] = ["dynamodb:GetItem"];
/** The actions of an administrator on them: break, transfer, list an election's occurrences, and remove what is left of an election. */
export const ADMINISTRATOR_ACTIONS: readonly string[] = [...CANDIDATE_ACTIONS, "dynamodb:Query", "dynamodb:DeleteItem"];
/** How a store asks what kind of table it is. It is about no item, and so cannot be kept to elections. */
export const TABLE_ACTIONS: readonly string[] = ["dynamodb:DescribeTable"];

/** What reading a table needs of the key that encrypts it, where that is a customer's own; and what writing does. */
export const KEY_READ_ACTIONS: readonly string[] = ["kms:Decrypt", "kms:DescribeKey"];
export const KEY_WRITE_ACTIONS: readonly string[] = [
  ...KEY_READ_ACTIONS,
  "kms:Encrypt",
  "kms:GenerateDataKey*",
  "kms:ReEncrypt*",
];

/**
 * Allows `actions` on the items of these elections and on nothing else of the tables. An election's lease and its
 * occurrences have the same partition key, its name, so the same statement covers both.
 *
 * @param grant what to call it in an error.
 * @throws without an election, since that would be all of them, or none; and for a name that no election can have.
 */
export function electionStatement(
  grant: string,
  actions: readonly string[],
  tableArns: readonly string[],
  elections: readonly string[],
): PolicyStatement {
  if (elections.length === 0) {
    throw new ConfigurationError(
      `${grant} needs the name of one election at least: without one, the grant would be for every election of the table. Name those that the grantee takes part in: ${grant}(grantee, "nightly-billing").`,
    );
  }
  for (const election of elections) if (!Token.isUnresolved(election)) checkName("election", election);
  return new PolicyStatement({
    effect: Effect.ALLOW,
    actions: [...actions],
    resources: [...tableArns],
    conditions: {
      // Equal, not like: an asterisk in an election's name is an asterisk.
      "ForAllValues:StringEquals": { "dynamodb:LeadingKeys": elections.map((election) => literal(election)) },
      // All of no keys are equal to anything: a request that names no key (a Scan) has to be kept out by itself.
      Null: { "dynamodb:LeadingKeys": "false" },
    },
  });
}

/** Allows what concerns no item. */
export function tableStatement(tableArns: readonly string[]): PolicyStatement {
  return new PolicyStatement({ effect: Effect.ALLOW, actions: [...TABLE_ACTIONS], resources: [...tableArns] });
}

/**
 * A name as a policy has to spell it, so that it is not taken for a policy variable.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html#policy-vars-specialchars
 */
function literal(election: string): string {
  return Token.isUnresolved(election) ? election : election.replaceAll("${", "${$}{");
}
