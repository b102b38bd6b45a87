import type { Suite } from '../replay/suite.ts'
import { dispatch } from './dispatch.ts'
import { reception } from './reception.ts'
import { registry } from './registry.ts'
import { school } from './school.ts'

/** Suites of four further domains, written without looking at a rule or a result. They are measured once. */
export const freshSuites: readonly Suite[] = [school, dispatch, registry, reception]
