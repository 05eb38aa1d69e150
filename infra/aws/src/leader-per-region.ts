import { Stack, Stage, Token } from "aws-cdk-lib/core";
import type { IConstruct } from "constructs";

/** The properties of a table that matter here. */
interface Table extends IConstruct {
  readonly region: string;
  readonly regions: readonly string[];
  readonly elections: ReadonlySet<string>;
}

/**
 * Finds the elections that would have a leader in each of two regions, because two tables hold them. This happens if a stack with
 * its own table is made once for each region. Tables that are separate on purpose, as for tests and production, belong in
 * different `Stage`s or accounts.
 */
export function tablesOfOneElection(table: Table): string[] {
  const others = (Stage.of(table)?.node.findAll() ?? []).filter(isTable);
  return others
    .filter((other) => other !== table && isElsewhere(table, other))
    .flatMap((other) =>
      [...table.elections]
        .filter((election) => !Token.isUnresolved(election) && other.elections.has(election))
        .map(
          (election) =>
            `The election '${election}' is held by the table ${table.node.path} in ${table.region} and by ${other.node.path} in ${other.region}: each region would have a leader of its own. Make one table, and take it elsewhere by LeaseTable.fromTableArn, with the region it is in. (What is to be apart goes into a Stage of its own.)`,
        ),
    );
}

function isTable(construct: IConstruct): construct is Table {
  return "elections" in construct && "regions" in construct && "tableArn" in construct;
}

/** True for another table of the same account. The replicas of one strongly consistent table are one table. */
function isElsewhere(table: Table, other: Table): boolean {
  if (Token.isUnresolved(table.region) || Token.isUnresolved(other.region)) return false;
  if (Stack.of(table).account !== Stack.of(other).account) return false;
  return !table.regions.includes(other.region) && !other.regions.includes(table.region);
}
