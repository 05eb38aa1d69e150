import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import { Construct, type IConstruct } from "constructs";
import {
  ADMINISTRATOR_ACTIONS,
  CANDIDATE_ACTIONS,
  electionConditions,
  KEY_READ_ACTIONS,
  KEY_WRITE_ACTIONS,
  OBSERVER_ACTIONS,
  OPERATOR_ACTIONS,
  TABLE_ACTIONS,
} from "./election-statements.ts";
import { placesOfOneElection } from "./leader-per-region.ts";

/** A table of leases, made here or elsewhere. */
export interface ILeaseTable extends IConstruct {
  /** The table's name, as `DynamoDBLeaseStore` takes it. */
  readonly tableName: string;
  /** The table's ARN, in `region`. */
  readonly tableArn: string;
  /** The region whose table every candidate uses, wherever it runs. `LEASE_TABLE_REGION` in its environment. */
  readonly region: string;
  /**
   * Lets the grantee compete in these elections, lead, fence its writes, and claim occurrences. It allows no other election, no
   * delete and no scan.
   * @throws without an election.
   */
  grantCandidate(grantee: IGrantable, ...elections: string[]): Grant;
  /** Lets the grantee read who leads these elections. @throws without an election. */
  grantObserver(grantee: IGrantable, ...elections: string[]): Grant;
  /**
   * Lets the grantee list all elections of the table, by `store.list()`. It may read every item, also those of other elections, and
   * a list costs a read of the whole table. So grant this to operators, not to candidates.
   */
  grantOperator(grantee: IGrantable): Grant;
  /**
   * Lets the grantee break and transfer the leadership of these elections, list their occurrences, and delete items. After a
   * lease is deleted its terms begin again at 1, which breaks fencing. So grant this to persons, not to programs.
   * @throws without an election.
   */
  grantAdministrator(grantee: IGrantable, ...elections: string[]): Grant;
}

/** A table by its ARN, in one region or in several with strong consistency. */
export abstract class LeaseTableBase extends Construct implements ILeaseTable {
  abstract readonly tableName: string;
  abstract readonly tableArn: string;
  abstract readonly region: string;
  /** The regions of this table, including its own. */
  abstract readonly regions: readonly string[];
  /** The ARNs in every region. */
  protected abstract readonly tableArns: readonly string[];
  /** Grants the use of customer keys that encrypt the table, in every region. */
  protected abstract grantKeys(grantee: IGrantable, actions: readonly string[]): Grant[];
  readonly #candidatesOf = new Set<string>();

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.node.addValidation({ validate: () => placesOfOneElection(this) });
  }

  /** The elections whose candidates use this table. */
  get elections(): ReadonlySet<string> {
    return this.#candidatesOf;
  }

  grantCandidate(grantee: IGrantable, ...elections: string[]): Grant {
    const grant = this.#grant("grantCandidate", CANDIDATE_ACTIONS, KEY_WRITE_ACTIONS, grantee, elections);
    for (const election of elections) this.#candidatesOf.add(election);
    return grant;
  }

  grantObserver(grantee: IGrantable, ...elections: string[]): Grant {
    return this.#grant("grantObserver", OBSERVER_ACTIONS, KEY_READ_ACTIONS, grantee, elections);
  }

  grantOperator(grantee: IGrantable): Grant {
    return this.#allow(grantee, OPERATOR_ACTIONS).combine(this.#grantKeys(grantee, KEY_READ_ACTIONS));
  }

  grantAdministrator(grantee: IGrantable, ...elections: string[]): Grant {
    return this.#grant("grantAdministrator", ADMINISTRATOR_ACTIONS, KEY_WRITE_ACTIONS, grantee, elections);
  }

  #grant(
    name: string,
    actions: readonly string[],
    keyActions: readonly string[],
    grantee: IGrantable,
    elections: readonly string[],
  ): Grant {
    const items = this.#allow(grantee, actions, electionConditions(name, elections));
    return items.combine(this.#allow(grantee, TABLE_ACTIONS)).combine(this.#grantKeys(grantee, keyActions));
  }

  #allow(grantee: IGrantable, actions: readonly string[], conditions?: ReturnType<typeof electionConditions>): Grant {
    const resourceArns = [...this.tableArns];
    return Grant.addToPrincipal({ grantee, actions: [...actions], resourceArns, ...(conditions ? { conditions } : {}) });
  }

  #grantKeys(grantee: IGrantable, actions: readonly string[]): Grant {
    const [first, ...others] = this.grantKeys(grantee, actions);
    if (!first) return Grant.drop(grantee, "AWS's own key needs no grant");
    return others.reduce((all, grant) => all.combine(grant), first);
  }
}
