import { ConfigurationError } from "@leasehold/core";
import { MultiRegionConsistency } from "aws-cdk-lib/aws-dynamodb";
import { Token } from "aws-cdk-lib/core";

/** The attribute for DynamoDB's TTL. An occurrence has it, and a lease never does. */
export const OCCURRENCE_TTL_ATTRIBUTE = "expiresAt";
/** The number of regions in multi-region strong consistency, including a witness. */
const STRONG_REGIONS = 3;
/**
 * The sets of regions that can be strongly consistent with each other.
 * https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateGlobalTableWitnessGroupMemberAction.html
 */
const REGION_SETS: readonly (readonly string[])[] = [
  ["us-east-1", "us-east-2", "us-west-2"],
  ["eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1"],
  ["ap-northeast-1", "ap-northeast-2", "ap-northeast-3"],
];

interface Regions {
  readonly replicaRegions?: readonly string[];
  readonly witnessRegion?: string;
  readonly multiRegionConsistency?: MultiRegionConsistency;
  readonly occurrenceTtlAttribute?: string;
}

/** The properties in the template that decide whether a table can hold leases. */
export interface DeployedTable {
  readonly TimeToLiveSpecification?: { readonly Enabled?: unknown; readonly AttributeName?: unknown };
  readonly Replicas?: readonly { readonly Region?: unknown }[];
  readonly MultiRegionConsistency?: unknown;
}

const EVENTUAL =
  "eventually consistent replicas each check conditions on their own copy of an item, so two regions would each elect a leader";
const NO_TTL = "DynamoDB has no TTL on tables with multi-region strong consistency";

/** @throws {ConfigurationError} for an attribute that leases have, or may have. */
export function checkTtlAttribute({ occurrenceTtlAttribute }: Regions): void {
  if (occurrenceTtlAttribute === undefined || occurrenceTtlAttribute === OCCURRENCE_TTL_ATTRIBUTE) return;
  throw new ConfigurationError(wrongTtl(occurrenceTtlAttribute));
}

/**
 * @param region the stack's own.
 * @throws {ConfigurationError} for replicas in which two candidates could lead, and for regions that DynamoDB cannot combine.
 */
export function checkRegions(region: string, props: Regions): void {
  const { replicaRegions = [], witnessRegion, multiRegionConsistency, occurrenceTtlAttribute } = props;
  const others = [...replicaRegions, ...(witnessRegion === undefined ? [] : [witnessRegion])];
  if (others.length === 0) {
    if (multiRegionConsistency === undefined) return;
    throw new ConfigurationError(
      `multiRegionConsistency is ${multiRegionConsistency}, and there is no other region: name two replicaRegions, or one and a witnessRegion, or leave it out.`,
    );
  }
  if (multiRegionConsistency !== MultiRegionConsistency.STRONG) {
    throw new ConfigurationError(
      `The table cannot be replicated to ${others.join(", ")} without multiRegionConsistency: MultiRegionConsistency.STRONG: ${EVENTUAL}. Set it, or keep the table in one region: candidates elsewhere can use it from there.`,
    );
  }
  if (replicaRegions.length === 0 || others.length !== STRONG_REGIONS - 1) {
    throw new ConfigurationError(
      `Multi-region strong consistency takes ${STRONG_REGIONS} regions: the stack's own with two replicaRegions, or with one and a witnessRegion. Here there are ${replicaRegions.length} replicaRegions and ${witnessRegion === undefined ? "no" : "a"} witnessRegion.`,
    );
  }
  const named = [region, ...others].filter((each) => !Token.isUnresolved(each));
  if (new Set(named).size < named.length) throw new ConfigurationError(`A region is named twice among ${named.join(", ")}.`);
  if (!REGION_SETS.some((set) => named.every((each) => set.includes(each)))) {
    throw new ConfigurationError(
      `DynamoDB has no multi-region strong consistency among ${named.join(", ")}: all three regions have to be of one set (${REGION_SETS.map((set) => set.join(", ")).join("; ")}).`,
    );
  }
  if (occurrenceTtlAttribute !== undefined) {
    throw new ConfigurationError(
      `occurrenceTtlAttribute cannot be set with multiRegionConsistency STRONG: ${NO_TTL}. Leave it out; occurrences are then kept until an administrator deletes them.`,
    );
  }
}

/**
 * Finds why a table is not safe for leases. It reads the template, because an escape hatch may have changed the props' result.
 */
export function faultsOf({
  TimeToLiveSpecification: ttl,
  Replicas = [],
  MultiRegionConsistency: consistency,
}: DeployedTable): string[] {
  const faults: string[] = [];
  if (ttl && ttl.Enabled !== false && ttl.AttributeName !== OCCURRENCE_TTL_ATTRIBUTE) faults.push(wrongTtl(ttl.AttributeName));
  if (ttl && ttl.Enabled !== false && consistency === "STRONG") faults.push(`The table has a TTL: ${NO_TTL}.`);
  if (Replicas.length > 1 && consistency !== "STRONG") {
    faults.push(`The table has ${Replicas.length} replicas without multi-region strong consistency: ${EVENTUAL}.`);
  }
  return faults;
}

function wrongTtl(attribute: unknown): string {
  return `The TTL of a table of leases can be on the attribute '${OCCURRENCE_TTL_ATTRIBUTE}' alone, which occurrences carry and leases do not, and not on ${JSON.stringify(attribute)}: DynamoDB would delete leases, and a lease that was deleted begins again at term 1, which breaks fencing. Use '${OCCURRENCE_TTL_ATTRIBUTE}', or leave it out.`;
}
