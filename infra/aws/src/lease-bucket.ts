import { ConfigurationError } from "@leasehold/core";
import { encodeName } from "@leasehold/core/provider";
import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from "aws-cdk-lib/aws-s3";
import { Annotations, Duration, RemovalPolicy, Token, Validations } from "aws-cdk-lib/core";
import { Construct } from "constructs";
import { checkElections } from "./election-statements.ts";
import { placesOfOneElection, regionOf } from "./leader-per-region.ts";

/** The settings of a {@link LeaseBucket}. */
export interface LeaseBucketProps {
  /**
   * The bucket's name.
   * @default - CloudFormation makes one
   */
  readonly bucketName?: string;
  /**
   * Deletes *occurrences* so many days after their last write, and never a lease. At least the `retentionMs` of the functions.
   * @default - occurrences are kept
   */
  readonly deleteOccurrencesAfterDays?: number;
  /**
   * The fate of the bucket when it is removed from the stack. With DESTROY there is a warning at synthesis.
   * @default RemovalPolicy.RETAIN
   */
  readonly removalPolicy?: RemovalPolicy;
}

/** The prefix of every key, which is the default of `ObjectStorageLeaseStore`. */
const PREFIX = "leasehold/";
/** The store reads these settings to refuse a bucket that deletes leases. Without `s3:ListBucket` S3 answers 403 in place of 404. */
const BUCKET_ACTIONS = ["s3:ListBucket", "s3:GetLifecycleConfiguration", "s3:GetBucketVersioning"];

/**
 * The bucket in which `ObjectStorageLeaseStore` keeps leases. It is encrypted, private, in one region, without versions, and kept
 * when its stack is deleted. Its only lifecycle rule is for occurrences. No grant can delete.
 */
export class LeaseBucket extends Construct {
  readonly bucket: Bucket;
  readonly region: string;
  readonly #elections = new Set<string>();

  /** @throws {ConfigurationError} in a stack without a region, because each one that it is deployed to would have a leader. */
  constructor(scope: Construct, id: string, props: LeaseBucketProps = {}) {
    super(scope, id);
    this.region = regionOf(this);
    this.node.addValidation({ validate: () => placesOfOneElection(this) });
    const { bucketName, deleteOccurrencesAfterDays: days, removalPolicy = RemovalPolicy.RETAIN } = props;
    this.bucket = new Bucket(this, "Resource", {
      bucketName,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      removalPolicy,
      lifecycleRules: days === undefined ? [] : [{ prefix: `${PREFIX}ticks/`, expiration: Duration.days(days) }],
    });
    Validations.of(this.bucket).acknowledge({ id: "AwsSolutions-S1", reason: "A log of 3,000 requests an hour tells nothing." });
    if (removalPolicy === RemovalPolicy.RETAIN) return;
    Annotations.of(this).addWarningV2(
      "@leasehold/infra-aws:leaseBucketDestroyed",
      "The bucket of leases is deleted with its stack: the terms of every election begin again at 1, and whoever fences by terms then accepts leaders that are long gone. Leave removalPolicy out, unless nothing depends on these leases.",
    );
  }

  /** The one region of its leases. */
  get regions(): readonly string[] {
    return [this.region];
  }

  /** The elections whose candidates use this bucket. */
  get elections(): ReadonlySet<string> {
    return this.#elections;
  }

  /** The `url` that a candidate gives to `ObjectStorageLeaseStore`, and `leasehold` to `--store`. */
  get url(): string {
    return `s3://${this.bucket.bucketName}/${PREFIX}?region=${this.region}`;
  }

  /**
   * Lets the grantee compete in these elections, claim their occurrences, and break or transfer their leases. It allows no other
   * election and no delete. An object that leaders fence needs a grant of its own: `bucket.grantReadWrite(grantee, "report.json")`.
   * @throws {ConfigurationError} without an election, or for a name that is not known at synthesis.
   */
  grantCandidate(grantee: IGrantable, ...elections: string[]): Grant {
    const keys = this.#keys("grantCandidate", elections);
    for (const election of elections) this.#elections.add(election);
    return this.#grant(grantee, ["s3:GetObject", "s3:PutObject"], [...keys, `${PREFIX}.probe`]);
  }

  /** Lets the grantee read who leads these elections. @throws {ConfigurationError} as `grantCandidate` does. */
  grantObserver(grantee: IGrantable, ...elections: string[]): Grant {
    return this.#grant(grantee, ["s3:GetObject"], this.#keys("grantObserver", elections));
  }

  #keys(grant: string, elections: readonly string[]): string[] {
    checkElections(grant, elections);
    if (elections.some((election) => Token.isUnresolved(election))) {
      throw new ConfigurationError(`${grant} needs names that are known at synthesis: a key has the election's name, encoded.`);
    }
    return elections.map(encodeName).flatMap((name) => [`${PREFIX}${name}`, `${PREFIX}ticks/${name}/*`]);
  }

  #grant(grantee: IGrantable, actions: string[], keys: readonly string[]): Grant {
    const resourceArns = keys.map((key) => this.bucket.arnForObjects(key));
    const settings = Grant.addToPrincipal({ grantee, actions: BUCKET_ACTIONS, resourceArns: [this.bucket.bucketArn] });
    return settings.combine(Grant.addToPrincipal({ grantee, actions, resourceArns }));
  }
}
