import { ConfigurationError } from "@leasehold/core";
import { Stack } from "aws-cdk-lib/core";
import type { Construct } from "constructs";
import type { ILeaseTable } from "./lease-table-base.ts";
import { LeaseTable } from "./lease-table.ts";

/** The environment variables by which a candidate finds the table, wherever it runs. */
export const TABLE_VARIABLES = { table: "LEASE_TABLE", region: "LEASE_TABLE_REGION", election: "ELECTION" } as const;

/**
 * Returns the environment variables of a candidate.
 * @throws {ConfigurationError} for a table whose name is not known in the candidate's stack.
 */
export function tableEnvironment(candidate: Construct, table: ILeaseTable, election: string): Record<string, string> {
  const { region } = Stack.of(candidate);
  if (table instanceof LeaseTable && region !== table.region && !table.hasOwnName) {
    throw new ConfigurationError(
      `The table ${table.node.path} is in ${table.region}, and ${candidate.node.path} in another region, or in a stack without one: there the name that CloudFormation makes for the table is not known. Give this stack the same env.region; or give the table a tableName, or take it here by LeaseTable.fromTableArn.`,
    );
  }
  return {
    [TABLE_VARIABLES.table]: table.tableName,
    [TABLE_VARIABLES.region]: table.region,
    [TABLE_VARIABLES.election]: election,
  };
}

/** @throws {ConfigurationError} for a variable that the construct sets itself. */
export function checkEnvironment(environment: Readonly<Record<string, string>>, ...further: string[]): void {
  for (const taken of [...Object.values(TABLE_VARIABLES), ...further]) {
    if (taken in environment)
      throw new ConfigurationError(`The environment variable ${taken} is set by the construct, from its props.`);
  }
}
