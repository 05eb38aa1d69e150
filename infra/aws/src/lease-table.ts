import { AttributeType, Billing, TableEncryptionV2, TableV2, type MultiRegionConsistency } from "aws-cdk-lib/aws-dynamodb";
import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import { Annotations, RemovalPolicy, Stack, type CfnResource } from "aws-cdk-lib/core";
import type { Construct } from "constructs";
import { ImportedLeaseTable, type LeaseTableAttributes } from "./imported-lease-table.ts";
import { LeaseTableBase, type ILeaseTable } from "./lease-table-base.ts";
import { regionOf } from "./leader-per-region.ts";
import { checkRegions, checkTtlAttribute, faultsOf, type DeployedTable } from "./table-safety.ts";

/** The names of the table's keys, which `@leasehold/dynamodb` expects. Both are strings. */
export const TABLE_KEYS = { partition: "election", sort: "entry" } as const;

/** The settings of a {@link LeaseTable}. */
export interface LeaseTableProps {
  /**
   * The table's name.
   * @default - CloudFormation makes one
   */
  readonly tableName?: string;
  /**
   * The attribute by which DynamoDB deletes *occurrences* after their retention. Only `expiresAt` is allowed, because no lease
   * has it. With any other attribute DynamoDB might delete a lease, and its terms must never begin again. Another attribute is
   * therefore an error.
   * @default - no TTL: occurrences are kept
   */
  readonly occurrenceTtlAttribute?: string;
  /**
   * Further regions that hold the whole table. Only with `multiRegionConsistency: STRONG`, and in regions of one set: three of the
   * United States, four of Europe, or three of Japan and Korea.
   * @default - only the stack's region
   */
  readonly replicaRegions?: string[];
  /**
   * A region that takes part in the consensus and holds no table. It replaces a second replica.
   * @default - none
   */
  readonly witnessRegion?: string;
  /**
   * The way in which replicas agree. Eventual consistency is an error, because each replica checks conditions on its own copy.
   * Two regions would then each elect a leader.
   * @default - none, for a table without replicas
   */
  readonly multiRegionConsistency?: MultiRegionConsistency;
  /**
   * The key that encrypts the table.
   * @default TableEncryptionV2.awsManagedKey()
   */
  readonly encryption?: TableEncryptionV2;
  /**
   * With `true` DynamoDB refuses to delete the table. With `false` there is a warning at synthesis.
   * @default true
   */
  readonly deletionProtection?: boolean;
  /**
   * The fate of the table when it is removed from the stack. With DESTROY there is a warning at synthesis.
   * @default RemovalPolicy.RETAIN
   */
  readonly removalPolicy?: RemovalPolicy;
}

/**
 * The table in which `DynamoDBLeaseStore` keeps leases. It is on demand, encrypted, restorable, protected from deletion, and kept
 * when its stack is deleted. Settings with which two leaders could exist, or terms could begin again, are an error.
 *
 * @example
 * ```ts
 * const table = new LeaseTable(this, "Leases");
 * table.grantCandidate(worker, "nightly-billing");
 * ```
 */
export class LeaseTable extends LeaseTableBase {
  /**
   * Returns the one table that another stack or another region has made. Its settings are not checked.
   * @throws {ConfigurationError} for an ARN without a region.
   */
  static fromTableArn(scope: Construct, id: string, tableArn: string): ILeaseTable {
    return new ImportedLeaseTable(scope, id, { tableArn });
  }

  /**
   * The same for a table that a key of yours encrypts, or for one in several regions.
   * @throws {ConfigurationError} for an ARN without a region.
   */
  static fromTableAttributes(scope: Construct, id: string, attributes: LeaseTableAttributes): ILeaseTable {
    return new ImportedLeaseTable(scope, id, attributes);
  }

  readonly tableName: string;
  readonly tableArn: string;
  readonly region: string;
  readonly regions: readonly string[];
  /** True if the props set the table's name, which is then known in every region. */
  readonly hasOwnName: boolean;
  protected readonly tableArns: readonly string[];
  readonly #encryption: TableEncryptionV2;

  /** @throws {ConfigurationError} for settings that are not safe, with the reason. */
  constructor(scope: Construct, id: string, props: LeaseTableProps = {}) {
    super(scope, id);
    this.region = regionOf(this);
    checkTtlAttribute(props);
    checkRegions(this.region, props);
    this.#encryption = props.encryption ?? TableEncryptionV2.awsManagedKey();
    const { replicaRegions = [], removalPolicy = RemovalPolicy.RETAIN, deletionProtection = true } = props;
    const table = new TableV2(this, "Resource", {
      tableName: props.tableName,
      partitionKey: { name: TABLE_KEYS.partition, type: AttributeType.STRING },
      sortKey: { name: TABLE_KEYS.sort, type: AttributeType.STRING },
      billing: Billing.onDemand(),
      encryption: this.#encryption,
      pointInTimeRecoverySpecification: {
        pointInTimeRecoveryEnabled: true,
        recoveryPeriodInDays: 35,
      },
      timeToLiveAttribute: props.occurrenceTtlAttribute,
      replicas: replicaRegions.map((region) => ({ region })),
      witnessRegion: props.witnessRegion,
      multiRegionConsistency: props.multiRegionConsistency,
      deletionProtection,
      removalPolicy,
    });
    this.tableName = table.tableName;
    this.tableArn = table.tableArn;
    this.hasOwnName = props.tableName !== undefined;
    this.regions = [this.region, ...replicaRegions];
    this.tableArns = [table.tableArn, ...replicaRegions.map((region) => this.#replicaArn(region))];
    this.#warn(removalPolicy, deletionProtection);
    this.node.addValidation({ validate: () => faultsOf(deployed(table.node.defaultChild as CfnResource)) });
  }

  protected override grantKeys(grantee: IGrantable, actions: readonly string[]): Grant[] {
    const { tableKey, replicaKeyArns = {} } = this.#encryption;
    const own = tableKey ? [tableKey.grant(grantee, ...actions)] : [];
    const resourceArns = Object.values(replicaKeyArns as Record<string, string>);
    if (resourceArns.length === 0) return own;
    return [...own, Grant.addToPrincipal({ grantee, actions: [...actions], resourceArns })];
  }

  #replicaArn(region: string): string {
    return Stack.of(this).formatArn({ service: "dynamodb", region, resource: "table", resourceName: this.tableName });
  }

  #warn(removalPolicy: RemovalPolicy, deletionProtection: boolean): void {
    const lost =
      "the terms of every election begin again at 1, and whoever fences by terms then accepts leaders that are long gone";
    if (removalPolicy === RemovalPolicy.DESTROY) {
      Annotations.of(this).addWarningV2(
        "@leasehold/infra-aws:leaseTableDestroyed",
        `The table of leases is deleted with its stack (RemovalPolicy.DESTROY): ${lost}. Leave removalPolicy out, unless nothing depends on these leases.`,
      );
    }
    if (!deletionProtection) {
      Annotations.of(this).addWarningV2(
        "@leasehold/infra-aws:leaseTableUnprotected",
        `The table of leases can be deleted by a single request (deletionProtection: false). If it is, ${lost}. Leave deletionProtection out, unless nothing depends on these leases.`,
      );
    }
  }
}

/** Returns the table's properties in the template, with every override. */
function deployed(resource: CfnResource): DeployedTable {
  const { Resources } = Stack.of(resource).resolve(resource._toCloudFormation()) as {
    readonly Resources: Readonly<Record<string, { readonly Properties: DeployedTable }>>;
  };
  return Object.values(Resources)[0]?.Properties ?? {};
}
