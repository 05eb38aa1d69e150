import { Annotations, Token } from "cdktn";
import { Construct } from "constructs";
import { leaseRole, type Grantee, type RoleName } from "./lease-roles.ts";
import { checkElections, granteeId, ProviderResource, RETAINED } from "../../terraform.ts";

export interface LeaseDatabaseProps {
  /** The project's id. */
  readonly project: string;
  /** The location of the data, which cannot be changed: a region such as `europe-west1`, or several, such as `eur3`. */
  readonly location: string;
  /**
   * 4 to 44 lower-case letters, digits and hyphens, the first a letter. `(default)` is refused, because other programs use it
   * too.
   * @default "leases"
   */
  readonly databaseId?: string;
  /**
   * Deletes the occurrences of schedules after their retention, and nothing else. The policy covers every collection `ticks` here.
   * @default false: they are kept for ever
   */
  readonly expireOccurrences?: boolean;
}

/**
 * A Firestore database for leases, and for nothing else, because IAM can limit a member to a database but not to documents.
 *
 * It is in Native mode. Firestore and Terraform refuse to delete it. Its content at any minute of the last 7 days can be read. No role of this
 * construct can delete. A restored database has old terms: see the README.
 */
export class LeaseDatabase extends Construct {
  readonly project: string;
  readonly databaseId: string;
  readonly database: ProviderResource;

  readonly #candidates = new Map<string, string>();

  /** @throws {Error} for an invalid name. */
  constructor(scope: Construct, id: string, props: LeaseDatabaseProps) {
    super(scope, id);
    const { project, databaseId = "leases" } = props;
    checkDatabaseId(databaseId);
    this.project = project;
    this.databaseId = databaseId;
    this.database = new ProviderResource(
      this,
      "Database",
      "google_firestore_database",
      {
        project,
        name: databaseId,
        location_id: props.location,
        // Datastore mode has no listeners, so the store does not support it.
        type: "FIRESTORE_NATIVE",
        delete_protection_state: "DELETE_PROTECTION_ENABLED",
        point_in_time_recovery_enablement: "POINT_IN_TIME_RECOVERY_ENABLED",
        deletion_policy: "ABANDON",
      },
      RETAINED,
    );
    if (props.expireOccurrences !== true) return;
    new ProviderResource(this, "Occurrences", "google_firestore_field", {
      project,
      database: this.database.attribute("name"),
      collection: "ticks",
      field: "expiresAt",
      ttl_config: {},
      // Index nothing: rising times make an index a hot spot, and no query uses the field.
      index_config: {},
    });
  }

  /**
   * Lets a service account compete in elections and claim their occurrences. IAM cannot limit it to documents, so it can write
   * every other election of this database too. If two accounts get different elections, there is a warning. Candidates that do
   * not trust each other need a database each.
   * @throws {Error} without an election, for an invalid one, or if there is a grant already.
   */
  grantCandidate(grantee: Grantee, ...elections: readonly string[]): ProviderResource {
    checkElections("grantCandidate", elections);
    const member = this.#bind("Candidate", grantee);
    this.#warnOfStrangers(member.node.id, elections);
    return member;
  }

  /**
   * Lets a member read who leads these elections. IAM cannot limit it to documents, so it can read every other election here too.
   * @throws {Error} as `grantCandidate` does.
   */
  grantObserver(grantee: Grantee, ...elections: readonly string[]): ProviderResource {
    checkElections("grantObserver", elections);
    return this.#bind("Observer", grantee);
  }

  /**
   * Lets a person break and transfer any lease here. Even this grant cannot delete.
   * @throws {Error} if there is a grant already.
   */
  grantAdministrator(grantee: Grantee): ProviderResource {
    return this.#bind("Administrator", grantee);
  }

  #bind(role: RoleName, { member }: Grantee): ProviderResource {
    const id = granteeId(this, role, member);
    if (this.node.tryFindChild(id)) {
      throw new Error(`grant${role} was called twice for the same member. Name all elections in one call.`);
    }
    return new ProviderResource(this, id, "google_project_iam_member", {
      project: this.project,
      role: this.#role(role).id,
      member,
      condition: {
        title: `Leasehold: ${this.databaseId} only`,
        description: "Access to this one database of the project",
        // The documentation of this condition:
        // https://cloud.google.com/firestore/native/docs/manage-databases#configure_per-database_access_permissions
        expression: `resource.name == "projects/${this.project}/databases/${this.databaseId}"`,
      },
    });
  }

  #role(name: RoleName): ProviderResource {
    const { project, databaseId: of } = this;
    const suffix = Token.isUnresolved(of) ? this.node.addr.slice(-8) : of.replaceAll("-", "_");
    return leaseRole(this, name, { project, of, suffix, permissions: name === "Observer" ? READ : WRITE });
  }

  #warnOfStrangers(candidate: string, elections: readonly string[]): void {
    const own = [...elections].toSorted().join(", ");
    const [stranger, others] = [...this.#candidates].find(([, names]) => names !== own) ?? [];
    this.#candidates.set(candidate, own);
    if (stranger === undefined) return;
    Annotations.of(this).addWarning(
      `IAM cannot tell documents of one database apart: ${candidate} (${own}) and ${stranger} (${others}) can write each other's ` +
        "leases. If they do not trust each other, give them a LeaseDatabase each.",
    );
  }
}

/**
 * https://cloud.google.com/firestore/native/docs/security/iam: a read needs `entities.get`, a first write `create`, another write
 * `update`, and a fenced transaction also `databases.get`. The page does not say what listening needs. `list` is included for it,
 * and reads nothing that `get` could not read.
 */
const READ = ["datastore.entities.get", "datastore.entities.list"];
const WRITE = ["datastore.databases.get", ...READ, "datastore.entities.create", "datastore.entities.update"];

function checkDatabaseId(databaseId: string): void {
  if (databaseId === "(default)") {
    throw new Error(
      `databaseId is "(default)", which other things use too: whoever may write there could write leases, and a candidate could ` +
        "write whatever is there. Give the leases a database of their own.",
    );
  }
  // At most 44 and not 63, because the id of a role contains it.
  if (!Token.isUnresolved(databaseId) && !/^[a-z][a-z0-9-]{2,42}[a-z0-9]$/.test(databaseId)) {
    throw new Error(
      `databaseId is ${JSON.stringify(databaseId)}; it must have 4 to 44 lower-case letters, digits and hyphens, begin with a letter, and not end with a hyphen.`,
    );
  }
}
