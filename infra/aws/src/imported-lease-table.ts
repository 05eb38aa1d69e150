import { ConfigurationError } from "@leasehold/core";
import type { Grant, IGrantable } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Arn, ArnFormat, Aws, Stack, Token, type ArnComponents } from "aws-cdk-lib/core";
import type { Construct } from "constructs";
import { LeaseTableBase } from "./lease-table-base.ts";

/** The attributes of a table that was made elsewhere. */
export interface LeaseTableAttributes {
  /** The table's ARN, which contains its region. */
  readonly tableArn: string;
  /**
   * Your own key that encrypts the table.
   * @default - a key of AWS's, which needs no grant
   */
  readonly encryptionKey?: IKey;
  /**
   * The further regions of a table with multi-region strong consistency. Grants cover them too, but no keys of yours there.
   * @default - none
   */
  readonly replicaRegions?: string[];
}

/** A table by its ARN. Its settings are not checked. */
export class ImportedLeaseTable extends LeaseTableBase {
  readonly tableName: string;
  readonly tableArn: string;
  readonly region: string;
  readonly regions: readonly string[];
  protected readonly tableArns: readonly string[];
  readonly #encryptionKey: IKey | undefined;

  /** @throws {ConfigurationError} for an ARN that is not a table's, or that means another table in each region. */
  constructor(scope: Construct, id: string, attributes: LeaseTableAttributes) {
    super(scope, id);
    const { tableArn, replicaRegions = [] } = attributes;
    const parts = partsOf(scope, tableArn);
    this.#encryptionKey = attributes.encryptionKey;
    this.tableArn = tableArn;
    this.tableName = parts.resourceName ?? "";
    this.region = parts.region ?? "";
    this.regions = [this.region, ...replicaRegions];
    this.tableArns = [tableArn, ...replicaRegions.map((region) => Arn.format({ ...parts, region }))];
  }

  protected override grantKeys(grantee: IGrantable, actions: readonly string[]): Grant[] {
    return this.#encryptionKey ? [this.#encryptionKey.grant(grantee, ...actions)] : [];
  }
}

const NAME = /^[\w.-]{3,255}$/;

function partsOf(scope: Construct, tableArn: string): ArnComponents {
  if (tableArn.includes(Aws.REGION)) {
    throw new ConfigurationError(
      "The table's ARN has the region of whatever stack it is in (AWS::Region): deployed in two regions, each would have a table, and a leader, of its own. Spell out the region that the table is in.",
    );
  }
  if (Token.isUnresolved(tableArn) && !tableArn.includes(":")) {
    return Stack.of(scope).splitArn(tableArn, ArnFormat.SLASH_RESOURCE_NAME);
  }
  const [arn, , service, region = "", , resource = ""] = tableArn.split(":");
  const name = resource.startsWith("table/") ? resource.slice("table/".length) : "";
  const isName = Token.isUnresolved(name) || NAME.test(name);
  if (arn !== "arn" || service !== "dynamodb" || region === "" || !isName) {
    throw new ConfigurationError(
      `${JSON.stringify(tableArn)} is no table's ARN; one looks like arn:aws:dynamodb:eu-central-1:123456789012:table/leases.`,
    );
  }
  return Arn.split(tableArn, ArnFormat.SLASH_RESOURCE_NAME);
}
