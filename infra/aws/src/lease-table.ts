import { ConfigurationError } from "@leasehold/core";
import { Metric, Stats, type MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { AttributeType, Billing, TableEncryptionV2, TableV2, type MultiRegionConsistency } from "aws-cdk-lib/aws-dynamodb";
import { Grant, type IGrantable, type PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Annotations, RemovalPolicy, Stack, Token, type CfnResource } from "aws-cdk-lib/core";
import { Construct, type IConstruct } from "constructs";
import {
  ADMINISTRATOR_ACTIONS,
  CANDIDATE_ACTIONS,
  electionStatement,
  OBSERVER_ACTIONS,
  tableStatement,
} from "./election-statements.ts";
import { checkRegions, checkTtlAttribute, faultsOf, type DeployedTable } from "./table-safety.ts";

/** The names of the table's keys, which are strings: what `@leasehold/dynamodb` expects. */
export const TABLE_KEYS = { partition: "election", sort: "entry" } as const;

/** A table of leases, made here or elsewhere. */
export interface ILeaseTable extends IConstruct {
  /** The table's name, as `DynamoDBLeaseStore` takes it. */
  readonly tableName: string;
  /** The table's ARN, in the stack's own region. */
  readonly tableArn: string;
  /**
   * Lets the grantee compete in these elections, lead, fence its writes, and claim occurrences; in no other election, and
   * without deleting or scanning anything.
   * @throws without an election.
   */
  grantCandidate(grantee: IGrantable, ...elections: string[]): Grant;
  /** Lets the grantee read who leads these elections. @throws without an election. */
  grantObserver(grantee: IGrantable, ...elections: string[]): Grant;
  /**
   * Lets the grantee break and transfer the leadership of these elections, list their occurrences, and delete items.
   * Whoever deletes a lease makes its terms begin again, which breaks fencing: give this to persons, not to programs.
   * @throws without an election.
   */
  grantAdministrator(grantee: IGrantable, ...elections: string[]): Grant;
  /** The write units that the table's leases consume: 720 an hour for each leader at the defaults. */
  metricConsumedWriteCapacityUnits(options?: MetricOptions): Metric;
  /** Writes that DynamoDB has refused for being too many: renewals are among them. */
  metricWriteThrottleEvents(options?: MetricOptions): Metric;
}

/** The settings of a {@link LeaseTable}. */
export interface LeaseTableProps {
  /**
   * The table's name.
   * @default - CloudFormation makes one
   */
  readonly tableName?: string;
  /**
   * The attribute by which DynamoDB deletes *occurrences* that have outlived their retention. There is one alone:
   * `expiresAt`, which no lease carries. Any other one is an error, since by it DynamoDB would delete leases, whose terms
   * must never begin again.
   * @default - no TTL: occurrences are kept
   */
  readonly occurrenceTtlAttribute?: string;
  /**
   * Further regions that hold the whole table. Only with `multiRegionConsistency: STRONG`, and in stacks whose region is set.
   * @default - the stack's region alone
   */
  readonly replicaRegions?: string[];
  /**
   * A region that takes part in the consensus and holds no table, in place of a second replica.
   * @default - none
   */
  readonly witnessRegion?: string;
  /**
   * How replicas agree. Eventually consistent ones are an error: each of them checks conditions on its own copy, so two
   * regions would each elect a leader.
   * @default - none, for a table without replicas
   */
  readonly multiRegionConsistency?: MultiRegionConsistency;
  /**
   * The key that encrypts the table.
   * @default TableEncryptionV2.awsManagedKey()
   */
  readonly encryption?: TableEncryptionV2;
  /**
   * For how many days back the table can be restored to any second, 1 to 35. A restored table has older terms: see the README.
   * @default 35
   */
  readonly recoveryPeriodInDays?: number;
  /**
   * DynamoDB refuses to delete the table. Without it there is a warning at synthesis.
   * @default true
   */
  readonly deletionProtection?: boolean;
  /**
   * The fate of the table when it is removed from the stack. With DESTROY there is a warning at synthesis.
   * @default RemovalPolicy.RETAIN
   */
  readonly removalPolicy?: RemovalPolicy;
}

abstract class LeaseTableBase extends Construct implements ILeaseTable {
  abstract readonly tableName: string;
  abstract readonly tableArn: string;
  /** In every region. */
  protected abstract readonly tableArns: readonly string[];
  protected readonly encryptionKey: IKey | undefined = undefined;

  grantCandidate(grantee: IGrantable, ...elections: string[]): Grant {
    const grant = this.#grant("grantCandidate", CANDIDATE_ACTIONS, grantee, elections);
    return this.#withKey(grant.combine(this.#grantTable(grantee)), (key) => key.grantEncryptDecrypt(grantee));
  }

  grantObserver(grantee: IGrantable, ...elections: string[]): Grant {
    return this.#withKey(this.#grant("grantObserver", OBSERVER_ACTIONS, grantee, elections), (key) => key.grantDecrypt(grantee));
  }

  grantAdministrator(grantee: IGrantable, ...elections: string[]): Grant {
    const grant = this.#grant("grantAdministrator", ADMINISTRATOR_ACTIONS, grantee, elections);
    return this.#withKey(grant.combine(this.#grantTable(grantee)), (key) => key.grantEncryptDecrypt(grantee));
  }

  metricConsumedWriteCapacityUnits(options?: MetricOptions): Metric {
    return this.#metric("ConsumedWriteCapacityUnits", options);
  }

  metricWriteThrottleEvents(options?: MetricOptions): Metric {
    return this.#metric("WriteThrottleEvents", options);
  }

  #grant(name: string, actions: readonly string[], grantee: IGrantable, elections: readonly string[]): Grant {
    return added(grantee, electionStatement(name, actions, this.tableArns, elections), this.tableArns);
  }

  #grantTable(grantee: IGrantable): Grant {
    return added(grantee, tableStatement(this.tableArns), this.tableArns);
  }

  #withKey(grant: Grant, grantKey: (key: IKey) => Grant): Grant {
    return this.encryptionKey ? grant.combine(grantKey(this.encryptionKey)) : grant;
  }

  #metric(metricName: string, options: MetricOptions = {}): Metric {
    const dimensionsMap = { TableName: this.tableName };
    return new Metric({ namespace: "AWS/DynamoDB", metricName, dimensionsMap, statistic: Stats.SUM, ...options });
  }
}

/**
 * The table that `DynamoDBLeaseStore` keeps leases in, on demand and encrypted, restorable, protected from deletion and
 * kept when its stack is deleted. What would make two leaders, or make terms begin again, is an error.
 *
 * @example
 * ```ts
 * const table = new LeaseTable(this, "Leases");
 * table.grantCandidate(worker, "nightly-billing");
 * ```
 */
export class LeaseTable extends LeaseTableBase {
  /** A table that was made elsewhere, in the stack's account and region; it is taken as it is. */
  static fromTableName(scope: Construct, id: string, tableName: string): ILeaseTable {
    return new ImportedLeaseTable(scope, id, tableName);
  }

  readonly tableName: string;
  readonly tableArn: string;
  protected readonly tableArns: readonly string[];
  protected override readonly encryptionKey: IKey | undefined;

  /** @throws {ConfigurationError} for what cannot be safe, with the reason. */
  constructor(scope: Construct, id: string, props: LeaseTableProps = {}) {
    super(scope, id);
    checkTtlAttribute(props);
    checkRegions(props);
    const { replicaRegions = [], removalPolicy = RemovalPolicy.RETAIN, deletionProtection = true } = props;
    const table = new TableV2(this, "Resource", {
      tableName: props.tableName,
      partitionKey: { name: TABLE_KEYS.partition, type: AttributeType.STRING },
      sortKey: { name: TABLE_KEYS.sort, type: AttributeType.STRING },
      billing: Billing.onDemand(),
      encryption: props.encryption ?? TableEncryptionV2.awsManagedKey(),
      pointInTimeRecoverySpecification: {
        pointInTimeRecoveryEnabled: true,
        recoveryPeriodInDays: props.recoveryPeriodInDays ?? 35,
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
    this.tableArns = [table.tableArn, ...replicaRegions.map((region) => this.#replicaArn(region))];
    this.encryptionKey = table.encryptionKey;
    this.#warn(removalPolicy, deletionProtection);
    this.node.addValidation({ validate: () => faultsOf(deployed(table.node.defaultChild as CfnResource)) });
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

class ImportedLeaseTable extends LeaseTableBase {
  readonly tableName: string;
  readonly tableArn: string;
  protected readonly tableArns: readonly string[];

  constructor(scope: Construct, id: string, tableName: string) {
    super(scope, id);
    if (!Token.isUnresolved(tableName) && !/^[\w.-]{3,255}$/.test(tableName)) {
      throw new ConfigurationError(
        `${JSON.stringify(tableName)} is no table's name: 3 to 255 letters, digits, dots, hyphens and underscores.`,
      );
    }
    this.tableName = tableName;
    this.tableArn = Stack.of(this).formatArn({ service: "dynamodb", resource: "table", resourceName: tableName });
    this.tableArns = [this.tableArn];
  }
}

function added(grantee: IGrantable, statement: PolicyStatement, resourceArns: readonly string[]): Grant {
  const { actions } = statement;
  const conditions = statement.conditions as Record<string, Record<string, unknown>>;
  return Grant.addToPrincipal({ grantee, actions, resourceArns: [...resourceArns], conditions });
}

/** The table's properties as CloudFormation gets them, with every override. */
function deployed(resource: CfnResource): DeployedTable {
  const { Resources } = Stack.of(resource).resolve(resource._toCloudFormation()) as {
    readonly Resources: Readonly<Record<string, { readonly Properties: DeployedTable }>>;
  };
  return Object.values(Resources)[0]?.Properties ?? {};
}
