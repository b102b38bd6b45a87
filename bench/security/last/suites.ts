import type { Suite } from '../replay/suite.ts'
import { dispatch } from './dispatch.ts'
import { reception } from './reception.ts'
import { registry } from './registry.ts'
import { school } from './school.ts'

/**
 * The suites written last: without looking at a rule or a result. They are measured once, when the rules are done, and no
 * rule may be changed for their sake.
 */
export const lastSuites: readonly Suite[] = [school, dispatch, registry, reception]
