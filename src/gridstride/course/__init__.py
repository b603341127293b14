"""The course: lessons, labs and quizzes read from course/dayNNN, and what a learner has done."""
