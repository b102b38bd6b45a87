import type { Suite } from '../replay/suite.ts'
import { code } from './code.ts'
import { contracts } from './contracts.ts'
import { hospital } from './hospital.ts'
import { support } from './support.ts'

/**
 * The suites written last: without looking at a rule or a result. They are measured once, when the rules are done, and no
 * rule may be changed for their sake.
 */
export const lastSuites: readonly Suite[] = [support, code, hospital, contracts]
