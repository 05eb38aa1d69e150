import { encodeName } from "@leasehold/core/provider";
import { Token } from "cdktn";
import { Construct } from "constructs";
import { leaseRole, type Grantee } from "./lease-roles.ts";
import { checkElections, granteeId, ProviderResource, RETAINED } from "../../terraform.ts";

export interface LeaseBucketProps {
  /** The project's id. */
  readonly project: string;
  /** 3 to 40 lower-case letters, digits and hyphens, unique among the buckets of the world. */
  readonly name: string;
  /** A region such as `europe-west1`. A location of several regions is refused: a lost region loses its last writes. */
  readonly location: string;
  /**
   * Deletes occurrences of schedules this many days after their last write, and nothing else. At least the `retentionMs` of the
   * functions.
   * @default - they are kept for ever
   */
  readonly deleteOccurrencesAfterDays?: number;
}

/** The prefix of every key, which is the default of `ObjectStorageLeaseStore`. */
const PREFIX = "leasehold/";
/** The number of bindings of one role to one member: https://cloud.google.com/iam/quotas */
const MAX_BINDINGS = 20;
/** Without `list`, Google answers 403 in place of 404 for an object that is missing. */
const READ = ["storage.objects.get", "storage.objects.list"];
/** Google requires `delete` of a program that replaces an object: https://cloud.google.com/storage/docs/access-control/iam-permissions */
const WRITE = [...READ, "storage.objects.create", "storage.objects.delete", "storage.buckets.get"];

/**
 * A bucket of Google Cloud Storage for leases, and for nothing else. It is private and in one region. Terraform refuses to delete
 * it. It keeps no versions and no deleted objects, because each renewal would leave one. Its only lifecycle rule is for occurrences.
 */
export class LeaseBucket extends Construct {
  readonly bucket: ProviderResource;
  readonly #props: LeaseBucketProps;

  /** @throws {Error} for an invalid name, or a location of several regions. */
  constructor(scope: Construct, id: string, props: LeaseBucketProps) {
    super(scope, id);
    const { project, name, location, deleteOccurrencesAfterDays: days } = props;
    checkBucket(name, location);
    this.#props = props;
    const matches = { age: days, matches_prefix: [`${PREFIX}ticks/`] };
    this.bucket = new ProviderResource(
      this,
      "Bucket",
      "google_storage_bucket",
      {
        project,
        name,
        location,
        uniform_bucket_level_access: true,
        public_access_prevention: "enforced",
        versioning: { enabled: false },
        soft_delete_policy: { retention_duration_seconds: 0 },
        ...(days === undefined ? {} : { lifecycle_rule: [{ action: { type: "Delete" }, condition: matches }] }),
      },
      RETAINED,
    );
  }

  /** The `url` that a candidate gives to `ObjectStorageLeaseStore`, and `leasehold` to `--store`. */
  get url(): string {
    return `gs://${this.#props.name}/${PREFIX}`;
  }

  /**
   * Lets a service account compete in these elections, claim their occurrences, and break or transfer their leases. Google requires
   * the right to delete of a program that replaces an object. So a candidate could delete its own leases; our code never does.
   * @throws {Error} without an election, for more than 20, or if there is a grant for one of them already.
   */
  grantCandidate(grantee: Grantee, ...elections: readonly string[]): readonly ProviderResource[] {
    return this.#bind("Candidate", WRITE, grantee, elections);
  }

  /** Lets a member read who leads these elections. @throws {Error} as `grantCandidate` does. */
  grantObserver(grantee: Grantee, ...elections: readonly string[]): readonly ProviderResource[] {
    return this.#bind("Observer", READ, grantee, elections);
  }

  /** Makes a binding for each election, because a condition takes twelve operators. */
  #bind(
    name: "Candidate" | "Observer",
    permissions: readonly string[],
    { member }: Grantee,
    elections: readonly string[],
  ): readonly ProviderResource[] {
    checkElections(`grant${name}`, elections);
    if (elections.length > MAX_BINDINGS || elections.some((election) => Token.isUnresolved(election))) {
      throw new Error(`grant${name} takes at most ${MAX_BINDINGS} elections, whose names are known at synthesis.`);
    }
    const { project, name: bucket } = this.#props;
    const role = leaseRole(this, name, { project, of: bucket, suffix: `in_${bucket.replaceAll("-", "_")}`, permissions });
    return elections.map((election) => {
      const id = `${granteeId(this, name, member)}-${encodeName(election)}`;
      if (this.node.tryFindChild(id)) throw new Error(`grant${name} was called twice for '${election}' and the same member.`);
      return new ProviderResource(this, id, "google_storage_bucket_iam_member", {
        bucket: this.bucket.attribute("name"),
        role: role.id,
        member,
        condition: { title: `Leasehold: one election of ${bucket}`, expression: this.#only(name, encodeName(election)) },
      });
    });
  }

  /** https://cloud.google.com/iam/docs/conditions-resource-attributes#resource-name. Lists and settings are of the bucket itself. */
  #only(role: "Candidate" | "Observer", name: string): string {
    const bucket = `projects/_/buckets/${this.#props.name}`;
    const keys = `${bucket}/objects/${PREFIX}`;
    return [
      `resource.name == "${bucket}"`,
      `resource.name == "${keys}${name}"`,
      `resource.name.startsWith("${keys}ticks/${name}/")`,
      ...(role === "Candidate" ? [`resource.name == "${keys}.probe"`] : []),
    ].join(" || ");
  }
}

/** https://cloud.google.com/storage/docs/buckets#naming. At most 40 and not 63, because the id of a role contains it. */
function checkBucket(name: string, location: string): void {
  if (!/^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$/.test(name)) {
    throw new Error(
      `name is ${JSON.stringify(name)}; it must have 3 to 40 lower-case letters, digits and hyphens, and be known at synthesis.`,
    );
  }
  if (Token.isUnresolved(location) || /^[a-z]+-[a-z]+\d+$/i.test(location)) return;
  throw new Error(
    `location is ${JSON.stringify(location)}; it must be one region, such as "europe-west1". If a region of several is lost, the writes that it has not copied yet are lost with it, and terms repeat.`,
  );
}
