export { observeElections, type Observation, type ObserveElectionsOptions } from "./observe-elections.ts";
