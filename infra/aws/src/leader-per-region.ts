import { ConfigurationError } from "@leasehold/core";
import { Stack, Stage, Token } from "aws-cdk-lib/core";
import type { IConstruct } from "constructs";

/** A table or a bucket, by the properties that matter here. */
interface Place extends IConstruct {
  readonly region: string;
  readonly regions: readonly string[];
  readonly elections: ReadonlySet<string>;
}

/** Returns the stack's region. @throws {ConfigurationError} without one: each region that it is deployed to would have a leader. */
export function regionOf(place: IConstruct): string {
  const { region } = Stack.of(place);
  if (!Token.isUnresolved(region)) return region;
  throw new ConfigurationError(
    `The stack of ${place.node.path} has no region: deployed in two regions, it would hold the leases, and so have a leader, in each. Say where they are: new Stack(app, "Leases", { env: { region: "eu-central-1" } }).`,
  );
}

/**
 * Finds the elections that would have a leader in each of two regions, because two tables or buckets hold them. This happens if a
 * stack with its own is made once for each region. Those that are separate on purpose, as for tests and production, belong in
 * different `Stage`s or accounts.
 */
export function placesOfOneElection(place: Place): string[] {
  const others = (Stage.of(place)?.node.findAll() ?? []).filter(isPlace);
  return others
    .filter((other) => other !== place && isElsewhere(place, other))
    .flatMap((other) =>
      [...place.elections]
        .filter((election) => !Token.isUnresolved(election) && other.elections.has(election))
        .map(
          (election) =>
            `The election '${election}' is held by ${place.node.path} in ${place.region} and by ${other.node.path} in ${other.region}: each region would have a leader of its own. Make one, and take a table elsewhere by LeaseTable.fromTableArn, with the region it is in. (What is to be apart goes into a Stage of its own.)`,
        ),
    );
}

function isPlace(construct: IConstruct): construct is Place {
  return "elections" in construct && "regions" in construct;
}

/** True for another one of the same account. The replicas of one strongly consistent table are one table. */
function isElsewhere(place: Place, other: Place): boolean {
  if (Token.isUnresolved(place.region) || Token.isUnresolved(other.region)) return false;
  if (Stack.of(place).account !== Stack.of(other).account) return false;
  return !place.regions.includes(other.region) && !other.regions.includes(place.region);
}
